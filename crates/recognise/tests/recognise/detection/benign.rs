//! Texts without personal data.

use super::{expect_none, found};

pub(super) const BENIGN: &[&str] = &[
    // Chatter.
    "",
    "Hello, how can I help you today?",
    "I would like to change my order, please.",
    "Can you check my address and my phone number?",
    "What is your date of birth?",
    "Please be patient, the network is slow.",
    "I paid with my credit card last week.",
    "Your booking is confirmed.",
    "The ticket was cancelled; we do not accept cash.",
    "Look at the dot com bubble.",
    "That is a headache, and it costs me sleep.",
    "The economy was in a depression.",
    "It aids in understanding.",
    "My birthday party was great.",
    "look at example dot com for docs",
    "I work at google dot com",
    "a migraine-inducing API",
    "the schizophrenic API design",
    "Tomcat 9.0.85.2 released",
    // Numbers.
    "I need 2 tickets for 3 people.",
    "order 5 pizzas",
    "order count: 15, total: 123.45",
    "The order total is $1,234.56.",
    "order 10000 units",
    "ordered 2024-05-20",
    "order date: 2024-05-20",
    "tickets: 3",
    "ticket price 350",
    "a 15% discount, 100% guaranteed",
    "Pi is 3.14159265358979",
    "The number 1234567890123456 is not special.",
    "4111 1111 1111 1112",
    "0000 0000 0000 0000",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "100 200 3000 40000",
    "The score is 21-14-7.",
    "It has 128 GB of memory and 2,000,000 users.",
    // Dates and times.
    "The flight leaves on 2024-05-20 at 13:30.",
    "2024-05-20T13:30:00+02:00",
    "20240520T133000Z",
    "May 20, 2024",
    "Meet on 05/20/2024 or 20.05.2024",
    "timestamp 1716206400",
    "1716206400000",
    "1716206400000000000",
    "birth certificate issued 2010-05-05",
    "birthday trip on 2024-05-20",
    "Please give your date of birth. The flight is on 2024-05-20.",
    // Flights, products, versions.
    "Flight HAT123 from JFK to SEA",
    "booking HAT136 for you",
    "flights HAT136, HAT039 and LH400",
    "Boeing 737-800, Airbus A320neo",
    "iPhone 15 Pro, model A3101",
    "version 1.2.3.4",
    "v10.0.19045.3803",
    "python 3.12.1",
    "left-pad@1.3.0",
    "ISO 9001:2015, RFC 5321, EN 13616",
    "EAN 4006381333931",
    // Code, URLs, ids.
    "https://example.com/a/b?x=1&y=2#top",
    "https://user:secret@example.com/x",
    "git@github.com:org/repo.git",
    "icon@2x.png",
    "@alice and @bob are here",
    "fn main() { let x: u64 = 0xdeadbeef; }",
    "SELECT * FROM orders WHERE id = 5",
    "std::collections::HashMap<String, Vec<u8>>",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "d41d8cd98f00b204e9800998ecf8427e",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "call_xF9mRN4CX2JZZOI6GnSUXEdP",
    "toolu_016Jj714rWMDCBpaF3NyMXNm",
    "color #A1B2C3 and #fff",
    "see page#L123 and issue #42",
    "192.168.1.1, 10.0.0.1, 127.0.0.1:8080, 8.8.8.8",
    "C:\\Users\\new\\table.txt",
    "/usr/local/share/applications/internationalization.desktop",
    "TGhpcyBpcyBqdXN0IGEgcGxhaW4gdGV4dCB3aXRob3V0IGRhdGE=",
    "lookup_customer, send_marketing_email, get_reservation_details",
    "book_reservation(cabin='economy', insurance='no')",
    "{\"flight_number\": \"HAT136\", \"origin\": \"JFK\", \"price\": 186, \"seats\": 12}",
    "{\"status\": \"ok\", \"count\": 15, \"page\": 1, \"next\": null}",
    // Streets that are none.
    "2 items on the way",
    "a 5 minutes drive",
    "10 people in the street",
    "Spring 2024 and Summer 2025",
    "3 lane road",
    "a 24 hour service",
    "connects via Frankfurt 3 times",
    "Parkplatz 2024",
    // Other languages.
    "Guten Tag, wie kann ich Ihnen helfen? Es kostet 25 €.",
    "Le vol part à 13 h 30, porte 12.",
    "El vuelo sale a las 13:30 por la puerta 12.",
    "Ваш рейс вылетает в 13:30.",
    "您的航班将于13:30起飞。",
    "I’m happy to help — here’s what I found: “nothing” … 😀",
];

#[test]
fn recognise_benign_texts_have_no_category() {
    assert!(BENIGN.len() >= 60);
    expect_none(BENIGN.iter().map(|text| (text, found(text))).filter_map(|(text, found)| {
        let is_empty = found.categories.is_empty() && found.subjects.is_empty();
        (!is_empty).then(|| format!("{text:?} carries nothing; found {:?} {:?}", found.categories, found.subjects))
    }));
}

/// A text may be cut anywhere; what is left of one that carries nothing carries nothing.
#[test]
fn recognise_single_characters_have_no_category() {
    assert_eq!(found(""), lictor_recognise::PersonalData::default());
    for code in 0..0x3000 {
        let text: String = char::from_u32(code).into_iter().collect();
        assert_eq!(found(&text), lictor_recognise::PersonalData::default(), "{text:?}");
    }
}
