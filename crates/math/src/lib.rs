//! Logarithm, exponential and the beta distribution from the four basic operations alone.
//!
//! IEEE 754 rounds the basic operations and the square root the same way everywhere; the functions of a platform's C
//! library differ in the last bit. So the same sample gives the same calibration, and the same log the same chain, with
//! the same hash, on every machine. [`ReliabilityBin`] compares the chances of both with what happens.

mod reliability;

pub use reliability::{ReliabilityBin, draw_reliability, write_reliability_table};

/// The logarithm of a positive number.
pub fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    if x <= 0.0 || !x.is_finite() {
        return if x == f64::INFINITY { x } else { f64::NEG_INFINITY };
    }
    // A number too small for a normal exponent is scaled up first.
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)); the argument is below 0.172, so that twelve terms are exact to the last bit.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent - shift) * LN_2 + 2.0 * s * series
}

/// The exponential; beyond ±700 that of the end.
pub fn exp(x: f64) -> f64 {
    const LN_2_HIGH: f64 = 0.693_145_751_953_125;
    const LN_2_LOW: f64 = 1.428_606_820_309_417_2e-6;
    let x = x.clamp(-700.0, 700.0);
    let exponent = (x / std::f64::consts::LN_2).round();
    let rest = x - exponent * LN_2_HIGH - exponent * LN_2_LOW;
    let series = (1..=18).rev().fold(1.0, |sum, k| 1.0 + sum * rest / f64::from(k));
    series * f64::from_bits(((exponent as i64 + 1023) as u64) << 52)
}

/// The logistic function.
pub fn logistic(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + exp(-x)) } else { exp(x) / (1.0 + exp(x)) }
}

/// The logarithm of the odds of a probability.
pub fn logit(p: f64) -> f64 {
    ln(p) - ln(1.0 - p)
}

/// The logarithm of the gamma function of a positive number, by Lanczos' approximation (g = 7, nine terms).
pub fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // One step of the recurrence reaches the range of the approximation.
        return ln_gamma(x + 1.0) - ln(x);
    }
    let x = x - 1.0;
    let sum = TERMS.iter().zip(1..).fold(0.999_999_999_999_809_9, |sum, (term, k)| sum + term / (x + f64::from(k)));
    let base = x + 7.5;
    0.5 * ln(std::f64::consts::TAU) + (x + 0.5) * ln(base) - base + ln(sum)
}

/// The logarithm of the beta function.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The probability that a number of the distribution Beta(a, b) is at most `x`.
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = exp(a * ln(x) + b * ln(1.0 - x) - ln_beta(a, b));
    // The continued fraction converges quickly only below the mean; the other tail follows by symmetry.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * continued_fraction(x, a, b) / a,
        false => 1.0 - front * continued_fraction(1.0 - x, b, a) / b,
    }
}

/// The continued fraction of the incomplete beta function, by the modified method of Lentz.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..=500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The interval of Clopper and Pearson for the probability of a hit, after some hits of a number of trials. The numbers
/// need not be whole, so that trials that tell less than one each can be counted.
pub fn clopper_pearson(hits: f64, trials: f64, confidence: f64) -> (f64, f64) {
    let tail = (1.0 - confidence) / 2.0;
    let misses = trials - hits;
    let least = if hits <= 0.0 { 0.0 } else { beta_quantile(tail, hits, misses + 1.0) };
    let most = if misses <= 0.0 { 1.0 } else { beta_quantile(1.0 - tail, hits + 1.0, misses) };
    (least, most)
}

/// The number that a number of the distribution Beta(a, b) stays below with a probability, by bisection.
fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match beta_cdf(middle, a, b) < probability {
            true => low = middle,
            false => high = middle,
        }
    }
    0.5 * (low + high)
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(left: f64, right: f64, error: f64) -> bool {
        (left - right).abs() <= error * right.abs().max(1.0)
    }

    #[test]
    fn logarithm_and_exponential_equal_the_library() {
        for k in -3000..3000 {
            let x = f64::from(k) * 0.2331;
            assert!(is_near(exp(x) / x.clamp(-700.0, 700.0).exp(), 1.0, 4e-15), "exp {x}");
            let positive = 10f64.powf(f64::from(k) * 0.1);
            if positive > 0.0 && positive.is_finite() {
                assert!(is_near(ln(positive), positive.ln(), 4e-15), "ln {positive}");
            }
        }
        assert_eq!((ln(1.0), exp(0.0), ln(0.0)), (0.0, 1.0, f64::NEG_INFINITY));
    }

    #[test]
    fn gamma_gives_factorials() {
        let mut factorial = 1.0f64;
        for n in 1..100 {
            assert!(is_near(ln_gamma(f64::from(n)), factorial.ln(), 1e-13), "{n}");
            factorial *= f64::from(n);
        }
        assert!(is_near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-13));
        assert!(is_near(ln_gamma(0.25), 3.625_609_908_221_908_f64.ln(), 1e-13));
    }

    #[test]
    fn beta_distribution_equals_sums_of_binomials() {
        // I_x(a, n − a + 1) is the probability of at least `a` hits of `n`, each with probability `x`.
        for n in [1u32, 5, 20, 60] {
            for x in [0.01, 0.3, 0.5, 0.97] {
                let mut terms = vec![(1.0f64 - x).powi(n as i32)];
                for k in 1..=n {
                    let last = terms[k as usize - 1];
                    terms.push(last * f64::from(n - k + 1) / f64::from(k) * x / (1.0 - x));
                }
                for a in 1..=n {
                    let tail: f64 = terms[a as usize..].iter().sum();
                    let found = beta_cdf(x, f64::from(a), f64::from(n - a + 1));
                    assert!((found - tail).abs() < 1e-11, "{n} {x} {a}: {found} {tail}");
                }
            }
        }
    }

    #[test]
    fn clopper_pearson_equals_published_values() {
        for (hits, trials, least, most) in [
            (0.0, 10.0, 0.0, 0.308_497_1),
            (1.0, 10.0, 0.002_528_6, 0.445_016_1),
            (5.0, 10.0, 0.187_086_0, 0.812_914_0),
            (10.0, 10.0, 0.691_502_9, 1.0),
            (81.0, 263.0, 0.252_736_7, 0.367_621_9),
            (0.0, 300.0, 0.0, 0.012_221_0),
        ] {
            let (low, high) = clopper_pearson(hits, trials, 0.95);
            assert!((low - least).abs() < 2e-6 && (high - most).abs() < 2e-6, "{hits}/{trials}: {low} {high}");
        }
    }
}
