"""Everyone is made up, spelled consistently, and there are enough of them."""

from __future__ import annotations

import pytest

from agent.shop.people import CULTURES, Person
from agent.shop.profiles import PROFILES
from agent.shop.spelling import fold

LANGUAGES = {"de", "en", "es", "fr", "tr", "pl", "ar", "hi", "zh", "ja"}


def test_there_are_names_in_ten_languages() -> None:
    assert {culture.language for culture in CULTURES.values()} == LANGUAGES


@pytest.mark.parametrize("name", sorted(CULTURES))
def test_a_culture_names_each_pair_of_given_and_family_name_once(name: str) -> None:
    culture = CULTURES[name]
    people = culture.people(native=False)
    given, family = culture.given.split(), culture.family.split()
    assert len(given) >= 12
    assert len(family) >= 10
    assert len(people) == len(given) * len(family)
    assert len({person.name for person in people}) == len(people)
    assert {person.language for person in people} == {culture.language}


@pytest.mark.parametrize("name", sorted(CULTURES))
def test_latin_spellings_make_an_address_in_plain_letters(name: str) -> None:
    for person in CULTURES[name].people(native=True):
        address = fold(person.latin).replace("-", "").replace(" ", "")
        assert address.isascii()
        assert address.isalpha()


def test_only_chinese_names_have_their_own_script() -> None:
    assert [name for name, culture in CULTURES.items() if culture.script] == ["chinese"]


def test_chinese_characters_stand_for_their_latin_spelling() -> None:
    people = {person.latin: person for person in CULTURES["chinese"].people(native=True)}
    assert people["Shen Yuwei"] == Person(name="沈雨薇", latin="Shen Yuwei", language="zh")
    assert people["Fan Yichen"].name == "范亦辰"
    assert people["Lu Jingyi"].name == "陆静怡"
    assert all(len(person.name) == 3 for person in people.values())


def test_chinese_names_abroad_are_written_in_latin_letters_family_name_first() -> None:
    names = {person.name for person in CULTURES["chinese"].people(native=False)}
    assert "Shen Yuwei" in names
    assert all(name.isascii() for name in names)


def test_a_native_spelling_equals_the_latin_one_where_there_is_no_own_script() -> None:
    german = CULTURES["german"]
    assert german.people(native=True) == german.people(native=False)
    assert german.people(native=True)[0].name == "Annegret Ahrenholt"


@pytest.mark.parametrize("tenant", sorted(PROFILES))
def test_no_shop_asks_for_more_people_than_there_are(tenant: str) -> None:
    shares = dict(PROFILES[tenant].cultures)
    assert sum(shares.values()) == 150
    assert set(shares) == set(CULTURES)
    for culture, share in shares.items():
        assert 0 < share <= len(CULTURES[culture].people(native=False))
