//! Arithmetic that gives the same bits on every machine: the standard library's `exp` may differ between platforms.

/// Returns 1 / (1 + e^-x).
pub(super) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + exp(-x))
    } else {
        let power = exp(x);
        power / (1.0 + power)
    }
}

/// Returns e^x, by the series of the remainder that is left of x after whole powers of two.
fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let x = x.clamp(-700.0, 700.0);
    let powers = (x / std::f64::consts::LN_2).round();
    let rest = x - powers * std::f64::consts::LN_2;
    let mut sum = 1.0;
    // Horner's rule from the 16th term, which is below the precision for |rest| <= ln(2) / 2.
    for term in (1..=16).rev() {
        sum = 1.0 + rest * sum / f64::from(term);
    }
    sum * two_to(powers as i32)
}

/// Returns 2 to a power from -1022 to 1023.
fn two_to(power: i32) -> f64 {
    f64::from_bits(((i64::from(power) + 1023) as u64) << 52)
}

/// Returns the next number of a fixed sequence that looks random (SplitMix64).
pub(super) fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Shuffles a list by a fixed sequence of numbers.
pub(super) fn shuffle<T>(list: &mut [T], state: &mut u64) {
    for end in (1..list.len()).rev() {
        let other = (next_random(state) % (end as u64 + 1)) as usize;
        list.swap(end, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoid_equals_its_definition() {
        for step in -4000..=4000 {
            let x = f64::from(step) / 50.0;
            let expected = 1.0 / (1.0 + (-x).exp());
            assert!((sigmoid(x) - expected).abs() <= 1e-14, "{x}");
        }
        assert!(sigmoid(f64::NAN).is_nan());
        assert_eq!((sigmoid(f64::INFINITY), sigmoid(f64::NEG_INFINITY) < 1e-300), (1.0, true));
    }

    #[test]
    fn shuffle_repeats_for_a_seed() {
        let draw = |mut seed: u64| {
            let mut list: Vec<u32> = (0..50).collect();
            shuffle(&mut list, &mut seed);
            list
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut sorted = draw(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<u32>>());
    }
}
