"""Function words: words that hold a sentence together and carry no topic, separated by spaces."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = """
a about after ago all also am an and another any anything are as at be been before but by can can't cannot
could did do does doing don't else ever for from get give go got had has have having he hello her here hey
hi him his how i i'd i'm i've if in into is it it's its just know let like long many may me might much
must my need no not nothing now of off on one only or other our out over please shall she should so some
something still tell than thank thanks that that's the their them then there these they thing this those
to too under until up us use very want was we were what what's when where which who whom whose why will
with would yes you you're your yours
"""

GERMAN: Final = """
aber alle als am an auch auf aus bei bin bis bitte da damit dann das dass dem den der des die dies diese
dieser doch du ein eine einem einen einer eines er es etwas für gibt habe haben hallo hat ich ihr ihre im
in ist ja kann kein keine können lange man mein meine meinen mich mir mit muss nach nicht noch nur oder ob
schon sehr sein sich sie sind so über um und uns unser unsere viel vom von vor wann warum was wenn wer
werden wie wieder wir wird wo wurde zu zum zur zwischen
"""

CHINESE: Final = """
的 了 吗 呢 吧 啊 是 在 和 与 或 及 也 都 就 还 把 被 给 对 从 到 向 由 我们 你们 您 我 你 他 她
它 他们 请问 请 想 想要 要 需要 能 能否 可以 可否 可不可以 会 如何 怎么 怎么样 怎样 怎么办 什么 什么时候
多少 多久 多长 几 哪 哪里 哪些 哪个 谁 为什么 是否 是不是 有没有 这 那 这个 那个 一个 一下 如果 因为 所以
但是 而且 然后 以及 告诉 知道 帮我 之后 以后 之前 以前 时候 时间 没有 不
"""
