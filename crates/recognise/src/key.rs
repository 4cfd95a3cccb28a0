//! Keys of JSON objects that name the category of their value: `customerEmail`, `date_of_birth`, `passport-no`.

use std::collections::HashMap;

use super::Builtin;
use super::fold::fold;

/// The category that a key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyMeaning {
    /// The number of the category.
    pub(super) category: u16,
    /// How many digits the value must have: some keys are also at home elsewhere.
    pub(super) digits: u8,
}

/// The keys that name categories.
pub(super) struct Keys {
    /// By the words of the key, separated by `_`; none for a key that names nothing, though its end would.
    meanings: HashMap<Box<str>, Option<KeyMeaning>>,
    /// One bit for each three last letters of them; most keys fail here.
    endings: Box<[u64; 512]>,
    /// One bit for each last word of them.
    last_words: [u64; 64],
}

/// How many bytes of a key are read: its last ones.
const MAX_KEY_BYTES: usize = 64;

/// Keys of every category, with how many digits the values must have. Words may come before a key.
const KEYS: &[(Builtin, u8, &str)] = &[
    (Builtin::Email, 0, "email emails mail_address email_address email_addresses emailaddress e_mail e_mails mailto"),
    (
        Builtin::Phone,
        0,
        "phone phones phone_number phone_numbers phonenumber phone_no telephone telephone_number telefon \
         telefonnummer telefono mobile_number mobile_phone mobile_no cell_phone cellphone contact_number \
         fax_number msisdn whatsapp_number phone_value callback_number",
    ),
    (Builtin::Phone, 5, "mobile cell tel fax handy whatsapp"),
    (
        Builtin::Dob,
        0,
        "dob date_of_birth dateofbirth birth_date birthdate birthday birth_day born born_on year_of_birth \
         birth_year birthyear geburtsdatum date_naissance date_de_naissance fecha_nacimiento fecha_de_nacimiento \
         data_nascita data_di_nascita geboortedatum data_nascimento birth",
    ),
    (
        Builtin::GovId,
        0,
        "ssn social_security_number social_security social_security_no national_id nationalid national_id_number \
         national_identity_number gov_id govid govt_id government_id government_id_number passport passport_no \
         passport_number passportno passportnumber passport_id id_card id_card_number identity_card \
         identity_number identity_document id_document id_document_number driver_license drivers_license \
         driver_licence drivers_licence driving_licence driving_license driver_license_number \
         drivers_license_number license_number licence_number tax_id taxid tax_number tax_identification_number \
         itin nino national_insurance_number bsn pesel cpf aadhaar aadhaar_number dni nif curp codice_fiscale \
         fiscal_code steuer_id steuerid personnummer personal_id_number ausweisnummer reisepass reisepassnummer",
    ),
    (
        Builtin::Address,
        0,
        "address addresses address_line street street_address streetaddress street_name home_address \
         postal_address shipping_address billing_address delivery_address mailing_address address_street \
         address_city address_zip address_state address_postal_code address_postcode adresse anschrift strasse \
         direccion indirizzo adres endereco po_box house_number",
    ),
    (
        Builtin::Address,
        2,
        "postal_code postalcode postcode post_code zip zip_code zipcode plz postleitzahl codigo_postal \
         code_postal cap_code",
    ),
    (Builtin::Iban, 0, "iban ibans iban_number"),
    (
        Builtin::Payment,
        1,
        "card_number card_no cardnumber credit_card creditcard credit_card_number creditcardnumber debit_card \
         debit_card_number cc_number ccn ccnum card_num payment_card cvv cvc cvv2 card_cvv card_cvc card_code \
         security_code card_last4 card_last_four last4 last_four card_expiry payment_id payment_ids \
         payment_method_id bank_account bank_account_number account_number accountnumber routing_number \
         sort_code kreditkartennummer kontonummer",
    ),
    (
        Builtin::OrderId,
        1,
        "order_id order_ids orderid order_number order_no order_nr order_ref order_reference ordernumber \
         purchase_order purchase_order_number booking_id booking_ids bookingid booking_number booking_no \
         booking_ref booking_reference booking_code reservation_id reservation_ids reservationid \
         reservation_number reservation_code confirmation_number confirmation_code confirmation_id \
         record_locator pnr ticket_id ticket_ids ticketid ticket_number ticket_no invoice_id invoice_ids \
         invoiceid invoice_number invoice_no bestellnummer auftragsnummer buchungsnummer rechnungsnummer",
    ),
    (
        Builtin::Health,
        0,
        "diagnosis diagnoses diagnosis_code primary_diagnosis medical_condition medical_conditions \
         health_condition health_conditions symptom symptoms medication medications prescription prescriptions \
         allergy allergies blood_type blood_group blood_pressure mrn medical_record_number medical_record \
         medical_history medical_notes patient_id patientid patient_number icd icd_code icd_codes disease \
         diseases disability disabilities lab_result lab_results immunization immunizations vaccination \
         vaccinations hba_1c hba1c health_insurance_number nhs_number diagnose medikation special_assistance",
    ),
];

/// Keys that end like one of the others and are something else.
const OTHER_KEYS: &str = "\
     ip_address ip_addresses mac_address web_address url_address wallet_address contract_address memory_address \
     base_address bind_address listen_address server_address host_address network_address token_address \
     to_address from_address remote_address local_address plant_disease send_email is_birthday page_born \
     license_plate_number is_mobile";

impl Keys {
    /// Returns the built-in keys, and the names of a policy's categories.
    pub(super) fn new<'a>(own: impl Iterator<Item = (&'a str, u16)>) -> Keys {
        let mut keys = Keys { meanings: HashMap::new(), endings: Box::new([0; 512]), last_words: [0; 64] };
        for (category, digits, names) in KEYS {
            for name in names.split(' ') {
                keys.insert(name, Some(KeyMeaning { category: *category as u16, digits: *digits }));
            }
        }
        for name in OTHER_KEYS.split(' ') {
            keys.insert(name, None);
        }
        for (name, category) in own {
            let mut buffer = [0; MAX_KEY_BYTES];
            let name = split_words(name, &mut buffer, 0).to_owned();
            // A name without letters would be the end of every key.
            if !name.is_empty() {
                keys.insert(&name, Some(KeyMeaning { category, digits: 0 }));
            }
        }
        keys
    }

    fn insert(&mut self, name: &str, meaning: Option<KeyMeaning>) {
        let bit = hash_last_word(name.as_bytes());
        self.last_words[bit >> 6] |= 1 << (bit & 63);
        let letters = name.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
        // Any letter may come before a short last word.
        for before in 0..32 {
            let mut ending = [before; 3];
            let kept = letters.min(3);
            ending[3 - kept..].copy_from_slice(&name.as_bytes()[name.len() - kept..]);
            let bit = hash_ending(ending);
            self.endings[bit >> 6] |= 1 << (bit & 63);
        }
        self.meanings.insert(name.into(), meaning);
    }

    /// Returns the meaning of a key, alone or together with the key of its object.
    pub(super) fn meaning(&self, key: &str, parent: &str) -> Option<KeyMeaning> {
        if let Some(ending) = key.as_bytes().last_chunk::<3>()
            && ending[2].is_ascii_alphabetic()
            && ending.is_ascii()
        {
            let bit = hash_ending(*ending);
            if self.endings[bit >> 6] >> (bit & 63) & 1 == 0 {
                return None;
            }
        }
        if !key.is_ascii() {
            return self.meaning(&fold(key, false).text.replace(|character: char| !character.is_ascii(), "_"), "");
        }
        let bit = hash_last_word(key.as_bytes());
        if self.last_words[bit >> 6] >> (bit & 63) & 1 == 0 {
            return None;
        }
        let mut buffer = [0; MAX_KEY_BYTES];
        let name = split_words(key, &mut buffer, 0);
        // `num_emails` is how many there are.
        if ["num_", "n_", "number_of_", "count_", "count_of_", "total_"].iter().any(|count| name.starts_with(count)) {
            return None;
        }
        if let Some(meaning) = self.find_longest_end(name) {
            return meaning;
        }
        if parent.is_empty() || !parent.is_ascii() {
            return None;
        }
        let length = split_words(parent, &mut buffer, 0).len();
        // `orders` of one order each: the key is about one of them.
        let is_plural = length > 2 && buffer[length - 1] == b's' && buffer[length - 2] != b's';
        let length = length - usize::from(is_plural);
        self.find_longest_end(split_words(key, &mut buffer, length)).flatten()
    }

    /// Returns the meaning of the longest known end of a key.
    fn find_longest_end(&self, name: &str) -> Option<Option<KeyMeaning>> {
        let mut rest = name;
        loop {
            if let Some(meaning) = self.meanings.get(rest) {
                return Some(*meaning);
            }
            rest = rest.split_once('_')?.1;
        }
    }
}

/// Writes the words of a key in lower case with `_` between them, after what the buffer holds. Numbers at its end are
/// left out.
fn split_words<'b>(key: &str, buffer: &'b mut [u8; MAX_KEY_BYTES], held: usize) -> &'b str {
    let mut length = held;
    let mut push = |byte: u8| {
        if length < MAX_KEY_BYTES {
            buffer[length] = byte;
            length += 1;
        }
    };
    let bytes = &key.as_bytes()[key.len().saturating_sub((MAX_KEY_BYTES - held).saturating_sub(1))..];
    let mut previous = b'_';
    if held > 0 {
        push(b'_');
    }
    for &byte in bytes {
        let starts_word = byte.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit());
        if starts_word {
            push(b'_');
        }
        match byte.is_ascii_alphanumeric() {
            true => push(byte.to_ascii_lowercase()),
            false if previous != b'_' => push(b'_'),
            false => {}
        }
        previous = if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    }
    let is_tail = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let kept = buffer[..length].iter().rposition(|byte| !is_tail(*byte)).map_or(0, |last| last + 1);
    std::str::from_utf8(&buffer[..kept]).unwrap_or("")
}

/// Returns five bits of each of three letters.
fn hash_ending(ending: [u8; 3]) -> usize {
    ending.iter().fold(0, |bits, letter| bits << 5 | usize::from(letter & 31))
}

/// Returns a hash of twelve bits of the last word of a key, in any spelling.
fn hash_last_word(key: &[u8]) -> usize {
    let end = key.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |last| last + 1);
    let mut letters = 0u64;
    let mut place = end;
    while let Some(&letter) =
        place.checked_sub(1).and_then(|place| key.get(place)).filter(|byte| byte.is_ascii_alphabetic())
    {
        letters = letters << 8 | u64::from(letter | 0x20);
        place -= 1;
        // `customerEmail`: a word starts with a capital after a small letter.
        let previous = place.checked_sub(1).and_then(|place| key.get(place)).copied().unwrap_or(0);
        if letter.is_ascii_uppercase() && !previous.is_ascii_uppercase() {
            break;
        }
    }
    (letters.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(key: &str, parent: &str) -> Option<u16> {
        Keys::new([("loyalty id", 77)].into_iter()).meaning(key, parent).map(|meaning| meaning.category)
    }

    #[test]
    fn key_names_category_of_value() {
        let cases = [
            ("email", Builtin::Email),
            ("e_mail", Builtin::Email),
            ("E-Mail", Builtin::Email),
            ("customerEmail", Builtin::Email),
            ("email2", Builtin::Email),
            ("dob", Builtin::Dob),
            ("date_of_birth", Builtin::Dob),
            ("birthDate", Builtin::Dob),
            ("patientDOB", Builtin::Dob),
            ("ssn", Builtin::GovId),
            ("passport_no", Builtin::GovId),
            ("passportNumber", Builtin::GovId),
            ("gov_id", Builtin::GovId),
            ("national-id", Builtin::GovId),
            ("phone", Builtin::Phone),
            ("homePhoneNumber", Builtin::Phone),
            ("mobile", Builtin::Phone),
            ("shippingAddress", Builtin::Address),
            ("address_line_1", Builtin::Address),
            ("street", Builtin::Address),
            ("postal_code", Builtin::Address),
            ("iban", Builtin::Iban),
            ("cardNumber", Builtin::Payment),
            ("card-number", Builtin::Payment),
            ("orderId", Builtin::OrderId),
            ("ORDER_ID", Builtin::OrderId),
            ("diagnosis", Builtin::Health),
            ("patient_mrn", Builtin::Health),
            ("Geburtsdatum", Builtin::Dob),
            ("correo_direccion", Builtin::Address),
        ];
        for (key, wanted) in cases {
            assert_eq!(category(key, ""), Some(wanted as u16), "{key}");
        }
        assert_eq!(category("id", "order"), Some(Builtin::OrderId as u16));
        assert_eq!(category("id", "orders"), Some(Builtin::OrderId as u16));
        assert_eq!(category("number", "passport"), Some(Builtin::GovId as u16));
        assert_eq!(category("city", "address"), Some(Builtin::Address as u16));
        assert_eq!(category("loyaltyId", ""), Some(77));
    }

    #[test]
    fn key_without_category_is_ignored() {
        for key in [
            "email_id",
            "email_count",
            "phone_type",
            "address_id",
            "order_status",
            "ip_address",
            "macAddress",
            "name",
            "id",
            "flight_number",
            "card_type",
            "amount",
            "date",
            "user_id",
            "number",
            "",
            "_",
            "123",
            "city",
            "order",
        ] {
            assert_eq!(category(key, ""), None, "{key}");
        }
        assert_eq!(category("id", "user"), None);
    }
}
