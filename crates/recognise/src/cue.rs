//! Words that announce what the number next to them is.

use super::Builtin;

/// The category of the terms of other scripts.
const HEALTH: u16 = Builtin::Health as u16;

/// The kind of data that a word or phrase announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    /// It is itself data of the category with this number.
    Term(u16),
    /// Like [`Cue::Term`], but only in capitals.
    Acronym(u16),
    /// The point of an address that is written in words.
    Dot,
    /// The id of an order, an invoice, a ticket that was bought.
    Order,
    /// The id of a booking; what looks like a number of a flight is none.
    Booking,
    /// A date of birth, and nothing but small words in between.
    Birth,
    /// A date of birth, perhaps after the place of birth.
    Born,
    /// A phone number.
    Phone,
    /// Perhaps a phone number: a word for a call.
    Call,
    /// The few digits that prove a card.
    CardCode,
    /// A card number.
    Card,
    /// Perhaps a card number: the check digit decides.
    CardWord,
    /// The last digits of a card.
    CardEnd,
    /// A bank account number.
    Account,
    /// An IBAN.
    Iban,
    /// A government id of any shape.
    Document,
    /// A government id of nine digits.
    NineDigits,
    /// A government id of eleven or twelve digits.
    ElevenDigits,
    /// Perhaps an id that a state gives: the word before it and the check digits decide.
    Number,
    /// A patient number.
    Patient,
    /// A code of a disease.
    Disease,
    /// A postal code.
    PostalCode,
    /// A box at the post office.
    Box,
    /// A street, with its number after it.
    Street,
    /// An address, on the same line.
    Address,
}

impl Cue {
    /// Whether it may find something that starts before it.
    pub(super) fn looks_back(self) -> bool {
        matches!(self, Cue::Dot | Cue::Birth | Cue::Born | Cue::Box)
    }

    /// Whether it matters in a text without any digit.
    pub(super) fn needs_no_digit(self) -> bool {
        matches!(self, Cue::Term(_) | Cue::Acronym(_) | Cue::Dot)
    }
}

/// The phrases of every cue, in lower case and without accents, with commas in between.
pub(super) const PHRASES: &[(Cue, &str)] = &[
    (Cue::Dot, "dot, punkt, punto, point"),
    (
        Cue::Order,
        "order, orders, orderid, ordernumber, orderno, purchase order, invoice, invoices, invoiceid, \
         invoicenumber, inv, ord, confirmation, bestellung, bestellnummer, auftrag, auftragsnummer, rechnung, \
         rechnungsnummer, commande, facture, pedido, factura, ordine, fattura, bestelling, bestelnummer, \
         factuur, factuurnummer, encomenda, fatura, zamowienie, faktura",
    ),
    (
        Cue::Booking,
        "booking, bookings, bookingid, bookingnumber, bookingreference, reservation, reservations, \
         reservationid, ticket, tickets, ticketid, ticketnumber, pnr, record locator, buchung, buchungsnummer, \
         buchungscode, reserva, prenotazione, boeking, boekingsnummer, reservering, reservierung, rezerwacja",
    ),
    (
        Cue::Birth,
        "birth, birthdate, birthday, dateofbirth, dob, birthdates, bday, geburtsdatum, geburtstag, naissance, \
         datenaissance, anniversaire, nacimiento, cumpleanos, nascita, nascimento, geboortedatum, geboorte, \
         urodzenia, fecha de nac, fec nac, ddn, date de naiss, data nasc, fodelsedatum, fodselsdato, fodselsdag, syntymaaika, narozeni, dogum tarihi",
    ),
    (
        Cue::Born,
        "born, geboren, geb, nee le, nacido, nacida, nacio, naci, nasceu, nasci, nacque, nato il, nata il, nascido, nascida, urodzony, urodzona, \
         fodt, fodd",
    ),
    (
        Cue::Phone,
        "phone, phones, phonenumber, telephone, tel, mobile, mobilenumber, cell, cellphone, fax, whatsapp, \
         msisdn, call me, call us, call him, call her, call them, text me, reach me, reached at, contact me, \
         contact number, ring me, telefon, telefonnummer, handy, handynummer, mobil, mobilnummer, rufnummer, \
         portable, telefono, movil, celular, cellulare, telefoon, telefoonnummer, mobiel, telemovel, komorka, \
         puhelin, gsm, tlf, tlfn, tlf nr, tfno, telefonnr, mobilnr, mobiltelefon, gsm nummer, \
         numer telefonu, mobiele nummer, cep telefonu, ring mig, ring meg, ring til mig, llamame, llameme, chiamami, \
         appelle moi, appelez moi, ruf mich an, bel me, zadzwon do mnie, ligue para",
    ),
    (
        Cue::Call,
        "call, calling, ring, dial, reach, reachable, reached, anrufen, anruf, ruckruf, rufen sie, rufe, unter, \
         erreichbar, appeler, appelez, rappeler, rappelez, joindre, joignable, numero de tel, llame, llamar, \
         llamada, llameme, chiami, chiamare, chiamata, richiami, raggiungibile, bel, bellen, bereikbaar, ligue, \
         ligar, zadzwon, dzwonic, desk, office, hotline, direct line",
    ),
    (Cue::CardWord, "card, cards, karte, carte, carta, kaart, karta"),
    (Cue::CardCode, "cvv, cvc, cvn, csc, cid code, security code, card code, prufziffer, cryptogramme"),
    (
        Cue::Card,
        "card number, card no, card num, cardnumber, credit card, creditcard, debit card, debitcard, ccnumber, \
         ccnum, visa, mastercard, amex, american express, maestro, kreditkarte, kreditkartennummer, \
         kartennummer, carte bancaire, carte de credit, numero de carte, tarjeta, carta di credito, kaartnummer, \
         cartao",
    ),
    (Cue::CardEnd, "ending, ends, endet auf, endend auf, terminada en, last four, last 4"),
    (
        Cue::Account,
        "bank account, account number, account no, accountnumber, routing number, sort code, kontonummer, \
         numero de cuenta, numero de compte, conto corrente, rekeningnummer",
    ),
    (Cue::Iban, "iban, ibannumber"),
    (
        Cue::Document,
        "passport, passportno, passportnumber, passports, reisepass, reisepassnummer, passnummer, passeport, \
         pasaporte, passaporto, paspoort, paspoortnummer, passaporte, paszport, national id, nationalid, \
         national identity, national identification, national insurance, government id, gov id, govid, govt id, \
         identity card, identity document, personalausweis, ausweisnummer, ausweis, carte d identite, \
         documento de identidad, carta d identita, identiteitskaart, driver license, drivers license, \
         driver s license, driver licence, drivers licence, driver s licence, driving license, driving licence, \
         fuhrerschein, fuhrerscheinnummer, permis de conduire, rijbewijs, dni, nie, nif, nino, codice fiscale, \
         curp, personnummer, cedula, rodne cislo, steuernummer, tax id, taxid, tax identification, taxpayer id, \
         vat id, sozialversicherungsnummer, rentenversicherungsnummer, svnr, ahv, ahv nr, ahv nummer, numero avs, \
         pan card, pan number, permanent account number, voter id, epic number, cpr, cpr nummer, cpr number, tfn, \
         tax file number, utr, unique taxpayer reference, rut, cnh, titulo de eleitor, rijksregisternummer, \
         registre national, henkilotunnus, hetu, kennitala, nric, mykad, cnp, jmbg, oib, amka, egn, \
         numer dowodu, prawo jazdy, korkort, korkortsnummer, fodselsnummer, carta de conducao, licencia de conducir, \
         permiso de conducir, patente di guida, cartao de cidadao, kimlik no, resident registration number, \
         driving licence number, driver license number, residence permit, aufenthaltstitel",
    ),
    (
        Cue::NineDigits,
        "ssn, ssns, social security, socialsecurity, itin, social insurance, sin, bsn, burgerservicenummer, sofinummer",
    ),
    (
        Cue::ElevenDigits,
        "pesel, steuer id, steuerid, steueridentifikationsnummer, identifikationsnummer, idnr, cpf, aadhaar, \
         aadhar, adhaar, securite sociale, numero insee, kimlik",
    ),
    (Cue::Number, "number, nummer, numero"),
    (
        Cue::Patient,
        "mrn, mrns, medical record, medicalrecord, medicalrecordnumber, patient id, patient ids, patientid, \
         patient number, patient no, patient identifier, patientennummer, health record, nhs number, \
         health insurance number, krankenversichertennummer, versichertennummer",
    ),
    (Cue::Disease, "icd, diagnosis, diagnoses, diagnosed, diagnosis code, diagnose, diagnostic, diagnostico, diagnosi"),
    (
        Cue::PostalCode,
        "zip, zip code, zipcode, postcode, post code, postal code, postalcode, plz, postleitzahl, code postal, \
         codigo postal, codice postale, kod pocztowy",
    ),
    (Cue::Box, "box, postfach, apartado, postbus, casella postale, boite postale"),
    (
        Cue::Street,
        "calle, avenida, avda, plaza, paseo, carrer, camino, via, viale, piazza, corso, largo, vicolo, rua, \
         praca, ulica, travessa, strada",
    ),
    (
        Cue::Address,
        "address, addresses, streetaddress, adresse, anschrift, direccion, indirizzo, adres, endereco, \
         domicilio, wohnhaft",
    ),
];

/// Phrases in other scripts, for texts that are not all ASCII after folding.
pub(super) const NON_LATIN_PHRASES: &[(Cue, &str)] = &[
    (
        Cue::Birth,
        "дата рождения, дата народження, родился, родилась, 出生日期, 生年月日, 생년월일, تاريخ الميلاد, ημερομηνία γέννησης",
    ),
    (
        Cue::Phone,
        "телефон, звоните, позвоните, 电话, 电话号码, 手机, 手机号, 手机号码, 電話, 電話番号, 携帯, 携帯番号, 전화번호, 휴대폰, هاتف, \
         رقم الهاتف, اتصل بي على, جوال, τηλέφωνο, फोन नंबर, मोबाइल नंबर",
    ),
    (
        Cue::Document,
        "паспорт, снилс, инн, 护照, 护照号, 身份证, 身份证号, 身份证号码, パスポート, パスポート番号, マイナンバー, 여권, 여권번호, \
         주민등록번호, رقم الهوية, رقم الجواز, आधार संख्या",
    ),
    (Cue::Order, "заказ, 订单, 注文番号, 주문번호"),
    (Cue::Card, "номер карты, 卡号, カード番号"),
    (Cue::Term(HEALTH), "диабет, беременна, гипертония, 糖尿病, 癌症, 怀孕, 妊娠, 당뇨병, السكري, διαβήτη"),
];

#[cfg(test)]
mod tests {
    use super::super::lexicon::Lexicon;
    use super::*;

    #[test]
    fn cue_phrases_fit_the_lexicon() {
        for (cue, phrases) in PHRASES {
            for phrase in phrases.split(", ") {
                assert!(Lexicon::can_hold(phrase), "{cue:?}: {phrase}");
                assert_eq!(phrase, phrase.to_lowercase(), "{cue:?}");
            }
        }
    }
}
