"""The labelled texts that both recognisers read: generated ones, and those of packages that others wrote.

A text is a dictionary with `text`, `language`, `corpus`, `half` (`tune` or `report`) and `spans`: start and end in
characters, and the category. Seeds are fixed; the same packages give the same texts.
"""

from __future__ import annotations

import csv
import importlib.metadata
import random
import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import phonenumbers
from faker import Faker
from sentences import SENTENCES

Sample = Dict[str, Any]

# The first locale of the languages in TUNED was seen while the recognisers were tuned, all others were not.
LOCALES = {
    "en": ["en_US", "en_GB", "en_AU", "en_NZ"],
    "de": ["de_DE", "de_AT", "de_CH"],
    "fr": ["fr_FR", "fr_CH"],
    "es": ["es_ES", "es_MX"],
    "it": ["it_IT"],
    "nl": ["nl_NL", "nl_BE"],
}
TUNED = ("en", "de", "fr", "es")
DATE_FORMATS = {
    "en": ["{y}-{m:02}-{d:02}", "{m:02}/{d:02}/{y}", "{d} {month} {y}", "{month} {d}, {y}"],
    "de": ["{d:02}.{m:02}.{y}", "{d}. {month} {y}", "{y}-{m:02}-{d:02}"],
    "fr": ["{d:02}/{m:02}/{y}", "{d} {month} {y}", "{d:02}.{m:02}.{y}"],
    "es": ["{d:02}/{m:02}/{y}", "{d} de {month} de {y}", "{d:02}-{m:02}-{y}"],
    "it": ["{d:02}/{m:02}/{y}", "{d} {month} {y}", "{d:02}.{m:02}.{y}"],
    "nl": ["{d:02}-{m:02}-{y}", "{d} {month} {y}", "{d:02}/{m:02}/{y}"],
}
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
CATEGORY = {"us_id": "gov_id"}


def group(value: str, size: int, mark: str) -> str:
    return mark.join(value[start : start + size] for start in range(0, len(value), size))


def make_date(fake: Faker, language: str, chance: random.Random) -> str:
    day = fake.date_of_birth(minimum_age=18, maximum_age=90)
    month = MONTHS[language].split()[day.month - 1]
    return chance.choice(DATE_FORMATS[language]).format(y=day.year, m=day.month, d=day.day, month=month)


def make_value(category: str, fake: Faker, language: str, chance: random.Random) -> str:
    if category == "email":
        return chance.choice([fake.email, fake.company_email, fake.free_email])()
    if category == "phone":
        return fake.phone_number()
    if category == "payment":
        number = fake.credit_card_number()
        return chance.choice([number, group(number, 4, " "), group(number, 4, "-")])
    if category == "iban":
        iban = fake.iban()
        return chance.choice([iban, group(iban, 4, " ")])
    if category == "ip_address":
        if chance.random() < 0.75:
            return fake.ipv4_public()
        return f"2{chance.randrange(0x400, 0xA10):03x}:" + fake.ipv6().split(":", 1)[1]
    if category == "dob":
        return make_date(fake, language, chance)
    if category == "us_id":
        return fake.ssn() if chance.random() < 0.75 else fake.itin()
    return f"{fake.first_name()} {fake.last_name()}"


def fill(sentence: str, value: str, category: str) -> Tuple[str, List[Tuple[int, int, str]]]:
    start = sentence.index("{}")
    return sentence.replace("{}", value), [(start, start + len(value), category)]


def generated(each: int = 80) -> Iterator[Sample]:
    """Yields `each` texts for each language, category and half."""
    for language, categories in SENTENCES.items():
        for half in ("tune", "report"):
            if half == "tune" and language not in TUNED:
                continue
            locales = LOCALES[language][:1] if half == "tune" else LOCALES[language]
            for category, sentences in categories.items():
                own = sentences[half == "report" :: 2]
                chance = random.Random(f"{language} {category} {half}")
                fakes = []
                # Social security numbers are American, and Mexico has no IBAN.
                own_locales = {"us_id": ["en_US"], "iban": [name for name in locales if name != "es_MX"]}
                for locale in own_locales.get(category, locales):
                    fake = Faker(locale)
                    fake.seed_instance(f"{locale} {category} {half}")
                    fakes.append(fake)
                for number in range(3 * each if category == "us_id" else each):
                    sentence = own[number % len(own)]
                    if category == "none":
                        text, spans = sentence, []
                    else:
                        value = make_value(category, chance.choice(fakes), language, chance)
                        text, spans = fill(sentence, value, CATEGORY.get(category, category))
                    yield dict(text=text, spans=spans, language=language, corpus="generated", half=half)


def read_package_data(package: str, name: str) -> str:
    """Returns a data file of an installed package, without importing the package."""
    for file in importlib.metadata.files(package) or []:
        if file.name == name:
            return Path(str(file.locate())).read_text(encoding="utf-8-sig", errors="replace")
    raise FileNotFoundError(f"{package} has no {name}")


def presidio_templates(each: int = 20) -> Iterator[Sample]:
    """Yields the sentences that Presidio is evaluated with, filled with the persons of the same package."""
    people = list(csv.DictReader(read_package_data("presidio-evaluator", "FakeNameGenerator.com_3000.csv").splitlines()))
    chance = random.Random("presidio")
    fake = Faker("en_US")
    fake.seed_instance("presidio")
    makers = value_makers(fake, chance)
    for number, template in enumerate(read_package_data("presidio-evaluator", "templates.txt").splitlines()):
        template = template.replace("\\n", "\n").replace("\\,", ",")
        fields = re.findall(r"{{(\w+)}}", template)
        if not template.strip() or any(field not in makers for field in fields):
            continue
        for _ in range(each):
            person = chance.choice(people)
            text, spans, end = "", [], 0
            for field in re.finditer(r"{{(\w+)}}", template):
                category, make = makers[field[1]]
                value = make(person)
                text += template[end : field.start()]
                if category:
                    spans.append((len(text), len(text) + len(value), category))
                text += value
                end = field.end()
            half = "tune" if number % 2 == 0 else "report"
            yield dict(text=text + template[end:], spans=spans, language="en", corpus="presidio-evaluator", half=half)


def value_makers(fake: Faker, chance: random.Random) -> Dict[str, Tuple[str, Callable[[Any], str]]]:
    """Returns for each field of the templates its category, if one is compared, and how to make a value of a person."""

    def full(person: Any) -> str:
        return f"{person['GivenName']} {person['Surname']}"

    def address(person: Any) -> str:
        return f"{person['StreetAddress']}, {person['City']}, {person['ZipCode']}"

    makers: Dict[str, Tuple[str, Callable[[Any], str]]] = {
        "credit_card_number": ("payment", lambda _: fake.credit_card_number()),
        "email": ("email", lambda person: person["EmailAddress"]),
        "phone_number": ("phone", lambda person: person["TelephoneNumber"]),
        "iban": ("iban", lambda _: fake.iban()),
        "ip_address": ("ip_address", lambda _: fake.ipv4_public()),
        "ssn": ("gov_id", lambda _: fake.ssn()),
        "date_of_birth": ("dob", lambda person: person["Birthday"]),
        "date_time": ("date", lambda _: fake.date()),
        "address": ("address", address),
        "city": ("location", lambda person: person["City"]),
        "country": ("location", lambda person: person["CountryFull"]),
        "street_name": ("location", lambda _: fake.street_name()),
        "building_number": ("location", lambda _: fake.building_number()),
        "secondary_address": ("location", lambda _: fake.secondary_address()),
        "postcode": ("location", lambda person: person["ZipCode"]),
        "zipcode": ("location", lambda person: person["ZipCode"]),
        "state_abbr": ("location", lambda person: person["State"]),
        "organization": ("", lambda person: person["Company"]),
        "job": ("", lambda person: person["Occupation"]),
        "age": ("", lambda person: person["Age"]),
        "year": ("date", lambda _: fake.year()),
        "url": ("", lambda person: f"https://www.{person['Domain']}/"),
        "nationality": ("", lambda _: "Danish"),
        "prefix": ("", lambda person: person["Title"]),
        "prefix_male": ("", lambda _: "Mr."),
        "prefix_female": ("", lambda _: "Ms."),
        "day_of_week": ("date", lambda _: fake.day_of_week()),
    }
    for field in ("person", "name", "name_male", "name_female"):
        makers[field] = ("person", full)
    for field in ("first_name", "first_name_male", "first_name_female", "first_name_nonbinary"):
        makers[field] = ("person", lambda person: person["GivenName"])
    for field in ("last_name", "last_name_male", "last_name_female"):
        makers[field] = ("person", lambda person: person["Surname"])
    return makers


def phone_examples() -> Iterator[Sample]:
    """Yields the example numbers of every region, as the package `phonenumbers` (Apache-2.0) has and formats them."""
    formats = {
        "international": phonenumbers.PhoneNumberFormat.INTERNATIONAL,
        "e164": phonenumbers.PhoneNumberFormat.E164,
        "national, announced": phonenumbers.PhoneNumberFormat.NATIONAL,
    }
    kinds = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
    for place, region in enumerate(sorted(phonenumbers.SUPPORTED_REGIONS)):
        for kind in kinds:
            number = phonenumbers.example_number_for_type(region, kind)
            if number is None:
                continue
            for name, style in formats.items():
                sentence = "Phone: {}" if name.startswith("national") else "It is {} now."
                text, spans = fill(sentence, phonenumbers.format_number(number, style), "phone")
                half = "tune" if place % 2 == 0 else "report"
                yield dict(text=text, spans=spans, language=name, corpus="phonenumbers", half=half)


def python_manual() -> Iterator[Sample]:
    """Yields the paragraphs of Python's own manual (PSF licence), which hold no personal data."""
    from pydoc_data.topics import topics

    paragraphs = [part for topic in topics.values() for part in topic.split("\n\n") if len(part) > 40]
    for number, text in enumerate(paragraphs):
        half = "tune" if number % 2 == 0 else "report"
        yield dict(text=text, spans=[], language="en", corpus="python manual", half=half)


def corpora() -> List[Sample]:
    return [*generated(), *presidio_templates(), *phone_examples(), *python_manual()]
