"""What each shop sells: ranges of goods, and the variants they come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Range:
    """Goods of one make: `price` in major units; each variant is a label and what it costs on top."""

    code: str
    category: str
    name: str
    price: int
    variants: tuple[tuple[str, int], ...]


_FINISH: Final = (("matt black", 0), ("cream", 0), ("brushed steel", 8))
_SIZE_CM: Final = (("20 cm", 0), ("24 cm", 10), ("28 cm", 20))
_LINEN: Final = (("sand", 0), ("forest green", 0), ("charcoal", 0))
_SET: Final = (("set of 2", 0), ("set of 4", 14), ("set of 6", 26))

HOUSEHOLD: Final = (
    Range("KET", "kitchen", "Kettle Ferrum 1.7 l", 49, _FINISH),
    Range("TOA", "kitchen", "Toaster Lamina", 59, _FINISH),
    Range("GRI", "kitchen", "Coffee grinder Mahlgut", 79, _FINISH),
    Range("FRY", "cookware", "Frying pan Gusseisen", 45, _SIZE_CM),
    Range("POT", "cookware", "Stock pot Havel", 55, _SIZE_CM),
    Range("SAU", "cookware", "Saucepan Spree", 35, _SIZE_CM),
    Range("KNI", "kitchen", "Chef's knife Klinge", 64, (("18 cm", 0), ("20 cm", 6), ("23 cm", 12))),
    Range("BOA", "kitchen", "Chopping board Buche", 24, (("small", 0), ("medium", 8), ("large", 16))),
    Range("MUG", "tableware", "Stoneware mug Krume", 16, _SET),
    Range("PLA", "tableware", "Dinner plate Krume", 22, _SET),
    Range("GLA", "tableware", "Tumbler Klar", 14, _SET),
    Range("CUT", "tableware", "Cutlery Anker", 39, (("16 pieces", 0), ("24 pieces", 20), ("60 pieces", 80))),
    Range("TOW", "bathroom", "Bath towel Flausch", 19, _LINEN),
    Range("MAT", "bathroom", "Bath mat Flausch", 23, _LINEN),
    Range("BED", "bedroom", "Duvet cover Leinen", 89, _LINEN),
    Range("PIL", "bedroom", "Pillow Wolke", 34, (("soft", 0), ("medium", 0), ("firm", 4))),
    Range("LAM", "lighting", "Desk lamp Gelenk", 69, _FINISH),
    Range("SHE", "storage", "Wall shelf Brett", 42, (("60 cm", 0), ("90 cm", 12), ("120 cm", 24))),
    Range("BIN", "storage", "Pedal bin Tritt", 47, (("5 l", 0), ("12 l", 15), ("30 l", 35))),
    Range("VAC", "cleaning", "Cordless vacuum Sturm", 229, (("basic", 0), ("pet", 50), ("max", 120))),
)

_APPAREL: Final = (("size S", 0), ("size M", 0), ("size L", 0))
_SHOES: Final = (("size 8", 0), ("size 9", 0), ("size 10", 0))
_PERSONS: Final = (("2 person", 0), ("3 person", 60), ("4 person", 120))
_LITERS: Final = (("30 l", 0), ("45 l", 40), ("65 l", 80))

OUTDOOR: Final = (
    Range("TEN", "camping", "Ridgeline tent", 249, _PERSONS),
    Range("SLB", "camping", "Tamarack sleeping bag", 159, (("40 F", 0), ("20 F", 60), ("0 F", 140))),
    Range("PAD", "camping", "Featherbed sleeping pad", 89, (("short", 0), ("regular", 10), ("wide", 30))),
    Range("STO", "camping", "Ember camp stove", 64, (("solo", 0), ("duo", 30), ("base camp", 75))),
    Range("COO", "camping", "Trailhead cook set", 48, (("solo", 0), ("duo", 20), ("family", 45))),
    Range("HEA", "camping", "Owl headlamp", 39, (("200 lm", 0), ("400 lm", 15), ("800 lm", 40))),
    Range("BAC", "packs", "Switchback backpack", 139, _LITERS),
    Range("DAY", "packs", "Brook daypack", 69, (("15 l", 0), ("20 l", 10), ("25 l", 20))),
    Range("BOO", "footwear", "Granite hiking boots", 179, _SHOES),
    Range("TRA", "footwear", "Scree trail runners", 129, _SHOES),
    Range("SAN", "footwear", "Creek sandals", 59, _SHOES),
    Range("RAI", "apparel", "Squall rain jacket", 149, _APPAREL),
    Range("DOW", "apparel", "Frost down jacket", 219, _APPAREL),
    Range("BAS", "apparel", "Merino base layer", 79, _APPAREL),
    Range("PAN", "apparel", "Canyon hiking pants", 85, _APPAREL),
    Range("POL", "trekking", "Sherpa trekking poles", 99, (("aluminum", 0), ("carbon", 60), ("folding", 80))),
    Range("BOT", "trekking", "Spring water bottle", 24, (("20 oz", 0), ("32 oz", 6), ("64 oz", 18))),
    Range("WAT", "electronics", "Meridian GPS watch", 299, (("standard", 0), ("solar", 120), ("pro", 250))),
    Range("YOG", "fitness", "Cork yoga mat", 58, (("3 mm", 0), ("5 mm", 10), ("travel", 4))),
    Range("KET", "fitness", "Cast kettlebell", 45, (("16 lb", 0), ("26 lb", 20), ("35 lb", 40))),
)

_GRAMS: Final = (("50 g 罐装 tin", 0), ("100 g 罐装 tin", 70), ("250 g 礼盒 gift box", 260))
_GLAZE: Final = (("青釉 celadon", 0), ("白釉 white", 0), ("祭蓝 sacrificial blue", 60))
_CAKE: Final = (("100 g 小饼 small cake", 0), ("200 g 中饼 cake", 90), ("357 g 饼 full cake", 220))

TEA: Final = (
    Range("LJG", "green tea", "龙井绿茶 Longjing green tea", 98, _GRAMS),
    Range("BLC", "green tea", "碧螺春 Biluochun green tea", 108, _GRAMS),
    Range("MFG", "green tea", "黄山毛峰 Huangshan Maofeng", 88, _GRAMS),
    Range("TGY", "oolong", "铁观音 Tieguanyin oolong", 96, _GRAMS),
    Range("DHP", "oolong", "大红袍 Dahongpao oolong", 158, _GRAMS),
    Range("DDO", "oolong", "冻顶乌龙 Dongding oolong", 128, _GRAMS),
    Range("QMH", "black tea", "祁门红茶 Keemun black tea", 86, _GRAMS),
    Range("DHG", "black tea", "滇红 Dianhong black tea", 78, _GRAMS),
    Range("BHY", "white tea", "白毫银针 Silver Needle white tea", 168, _GRAMS),
    Range("SHO", "white tea", "寿眉 Shoumei white tea cake", 118, _CAKE),
    Range("PES", "pu-erh", "普洱熟茶 Ripe pu-erh", 128, _CAKE),
    Range("PER", "pu-erh", "普洱生茶 Raw pu-erh", 148, _CAKE),
    Range("JAS", "scented tea", "茉莉花茶 Jasmine tea", 68, _GRAMS),
    Range("GAI", "porcelain", "盖碗 Gaiwan", 138, _GLAZE),
    Range("TPT", "porcelain", "茶壶 Teapot", 268, _GLAZE),
    Range("CUP", "porcelain", "品茗杯 Tasting cup", 48, _GLAZE),
    Range("PIT", "porcelain", "公道杯 Fairness pitcher", 98, _GLAZE),
    Range("CAD", "porcelain", "茶叶罐 Tea caddy", 118, _GLAZE),
    Range(
        "TRY",
        "accessories",
        "竹茶盘 Bamboo tea tray",
        188,
        (("小 small", 0), ("中 medium", 80), ("大 large", 160)),
    ),
    Range(
        "TLS",
        "accessories",
        "茶道六件套 Six tea tools",
        78,
        (("竹 bamboo", 0), ("檀木 sandalwood", 90), ("铜 brass", 140)),
    ),
)
