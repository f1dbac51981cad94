"""Made-up people: given and family names of ten languages, in combinations that nobody well known bears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Person:
    """A name as it is written, in Latin letters (`latin`), and the language of its bearer (BCP 47)."""

    name: str
    latin: str
    language: str


@dataclass(frozen=True, slots=True)
class Culture:
    """Names of one language: words separated by spaces; with `script` the name also has its own writing.

    `given` and `family` are Latin spellings. In `script`, two rows give the same names in Chinese characters.
    """

    language: str
    given: str
    family: str
    script: tuple[str, str] | None = None
    family_first: bool = False

    def people(self, *, native: bool) -> tuple[Person, ...]:
        """Everyone the lists can name, in a fixed order; `native` writes names in their own script."""
        pairs = [
            (self._join(given, family), index, other)
            for other, family in enumerate(self.family.split())
            for index, given in enumerate(self.given.split())
        ]
        return tuple(
            Person(name=self._native(index, other) if native else latin, latin=latin, language=self.language)
            for latin, index, other in pairs
        )

    def _join(self, given: str, family: str) -> str:
        return f"{family} {given}" if self.family_first else f"{given} {family}"

    def _native(self, given: int, family: int) -> str:
        if self.script is None:
            return self._join(self.given.split()[given], self.family.split()[family])
        return self.script[1].split()[family] + self.script[0].split()[given]


CULTURES: Final[Mapping[str, Culture]] = MappingProxyType(
    {
        "german": Culture(
            "de",
            "Annegret Birte Carsten Dörte Eckart Frauke Gesine Hauke Ilka Jörn Käthe Lorenz",
            "Ahrenholt Brinkhaus Dörfling Ellerbrock Grünhagen Harmsdorf "
            "Kortländer Lüttmann Mühlfeld Rehbock",
        ),
        "english": Culture(
            "en",
            "Alwyn Bryony Callum Dorcas Edwin Fenella Giles Hattie Imogen Jarvis Kendra Leonie",
            "Ashmere Birchall Cottam Dunnock Eastlake Fernsby Garrick Hollins Larkham Netherby",
        ),
        "spanish": Culture(
            "es",
            "Amparo Benito Casilda Dionisio Estrella Fermín Graciela "
            "Hernán Inmaculada Jacinto Lourdes Matías",
            "Albornoz Barrenechea Cifuentes Echagüe Galdeano Iturralde "
            "Lizarraga Ochandiano Quintanar Zubieta",
        ),
        "french": Culture(
            "fr",
            "Aurélien Bérengère Corentin Delphine Éloïse Fabrice Ghislaine "
            "Hervé Isaure Josselin Maëlle Nadège",
            "Aubertin Bellefond Chastagnol Desmoulières Faucheron Grandclément "
            "Lavigerie Montbrun Poulard Tessandier",
        ),
        "turkish": Culture(
            "tr",
            "Aylin Berkant Canan Defne Ediz Feride Gökçe Haluk Işıl Korhan Nilay Serhat",
            "Akbulut Bozdağ Çınarlı Demirkol Gündoğan Karakuş Özsoylu Şentepe Taşkıran Yücebaş",
        ),
        "polish": Culture(
            "pl",
            "Aldona Bogusław Celina Dobrosława Eligiusz Grażyna Halina "
            "Ireneusz Jagoda Kazimierz Łucja Mirosław",
            "Bąbol Czyżyk Dąbrówka Gołębiowicz Jarzyna Kłosowicz Makuch Niedziółka Pogorzel Wrzosek",
        ),
        "arabic": Culture(
            "ar",
            "Amal Bassel Dalia Farouk Ghada Hisham Iman Jihad Lubna Munir Nawal Rashid",
            "Al-Qadiri Berjawi Darwazah El-Tawil Haddadin Khoury-Nasr Marwazi Qabbasi Sabbagh Zaitouni",
        ),
        "hindi": Culture(
            "hi",
            "Aditi Bhaskar Chitra Devansh Esha Girish Hemlata Ishaan Kavita Lalit Meenal Nikhil",
            "Agrahari Bhatewara Chitransh Deshwal Gangwar Khandelwal Lakhotia Purohit Ramteke Sakalkar",
        ),
        "chinese": Culture(
            "zh",
            "Yuwei Zihan Jingyi Haoran Xinyue Mingzhe Ruoxi Chengyu Siqi Wenbo Lanxin Yichen",
            "Shen Lu Qiao Xue Geng Mu Ruan Tan Ji Fan",
            script=(
                "雨薇 子涵 静怡 浩然 欣悦 明哲 若溪 承宇 思琪 文博 兰馨 亦辰",
                "沈 陆 乔 薛 耿 穆 阮 谭 季 范",
            ),
            family_first=True,
        ),
        "japanese": Culture(
            "ja",
            "Ayaka Daigo Fumie Hideto Itsuki Kanako Masato Noriko Reiji Sachiko Tomoya Yuzuki",
            "Asakawa Ebisawa Hatakeda Inagaki Kurosaki Minegishi Nagatomi Shinohara Tokunaga Wakabayashi",
        ),
    }
)
"""By language. The characters of Chinese names stand in the order of their Latin spellings."""
