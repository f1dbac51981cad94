"""The words that the rules know, as data: concepts in English and Chinese, and words that decide nothing.

A concept is one meaning; its English and Chinese forms count as the same word when a message is compared with
the names and descriptions of tools. Words that are not listed are compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

CONCEPTS: Mapping[str, str] = {
    "account": "account accounts 账户 账号 帐号",
    "address": "address addresses 地址",
    "amount": "amount amounts sum 金额 总额 数额",
    "appointment": "appointment appointments 约会",
    "article": "article articles 文章",
    "balance": "balance 余额",
    "book": "book booking bookings reserve reservation reservations 预订 预约 预定 订房",
    "calculate": "calculate calculator calculation compute 计算",
    "calendar": "calendar 日历 日程",
    "cancel": "cancel cancels cancelling canceling cancellation 取消 撤销",
    "city": "city cities 城市",
    "complaint": "complaint complaints complain 投诉 抱怨",
    "create": "create creates add new 创建 新建 添加 新增",
    "customer": "customer customers client clients buyer shopper 客户 顾客 买家",
    "damage": "damage damaged broken defective faulty cracked leaks leaking 破损 损坏 坏了 碎了 漏水",
    "date": "date day 日期",
    "delete": "delete deletes remove erase 删除 移除",
    "delivered": "delivered 已送达 已签收",
    "delivery": "delivery deliveries deliver shipping shipment shipments ship parcel parcels package courier "
    "送货 配送 快递 物流 发货 运输 包裹 邮费 运费",
    "discount": "discount discounts coupon voucher 折扣 优惠 优惠券",
    "email": "email emails e-mail mail 邮件 邮箱 电子邮件",
    "employee": "employee employees staff colleague 员工 同事",
    "exchange": "exchange exchanges swap replace replacement 换货 更换 调换",
    "flight": "flight flights 航班 机票",
    "forget": "forget 忘记",
    "handbook": "handbook manual guide kb knowledge wiki faq documentation docs document documents 手册 指南 知识库 "
    "文档 说明书 资料",
    "hotel": "hotel hotels 酒店 宾馆",
    "invoice": "invoice invoices bill bills billing 发票 账单",
    "late": "late delayed delay overdue 延迟 迟到 晚到",
    "leave": "vacation holiday holidays 假期 休假 年假",
    "limit": "limit maximum 最多",
    "meeting": "meeting meetings 会议",
    "memory": "memory memories fact facts 记忆",
    "order": "order orders ordered purchase purchases 订单 单号 定单",
    "password": "password passwords 密码",
    "pay": "pay payment payments 付款 支付",
    "people": "people persons guests attendees 人数 客人",
    "policy": "policy policies rule rules regulation regulations terms 政策 规定 规则 条款 制度",
    "price": "price prices cost costs fee fees charge 价格 费用 价钱 多少钱",
    "product": "product products item items goods sku 产品 商品 货品",
    "quantity": "quantity quantities 数量",
    "reason": "reason reasons 原因 理由",
    "refund": "refund refunds refunding reimburse reimbursement moneyback 退款 退钱 返款",
    "refunded": "refunded 已退款",
    "remember": "remember memorize memorise 记住 记得 记下",
    "report": "report reports 报告 报表",
    "return": "return returns returning returned 退货 退换 退换货",
    "room": "room rooms 房间 会议室 包间",
    "salary": "salary wage wages 工资 薪水",
    "schedule": "schedule schedules 安排 时间表",
    "seat": "seat seats 座位",
    "send": "send sends 发送 寄送",
    "shipped": "shipped dispatched 已发货",
    "status": "status state progress 状态 进度",
    "stock": "stock stocks inventory availability available warehouse 库存 存货 现货 有货 缺货 仓库",
    "summary": "summary summarise summarize summarizing digest 总结 摘要 汇总 概括",
    "task": "task tasks todo 任务 待办",
    "ticket": "ticket tickets 工单",
    "time": "time hours 时间",
    "translate": "translate translation 翻译",
    "update": "update updates change modify edit 更新 修改 更改",
    "urgent": "urgent urgently asap immediately critical emergency 紧急 加急 马上 立即 立刻",
    "user": "user users 用户",
    "warranty": "warranty warranties guarantee 保修 质保 保固",
    "weather": "weather temperature 天气 气温",
    "cancelled": "cancelled canceled 已取消",
    "paid": "paid 已付款 已支付",
    "pending": "pending 待处理 待付款",
    "billing": "invoiced charged 收费 扣款",
    "technical": "technical bug error crash crashes 技术 故障 报错 崩溃",
    "high": "high 高优先级",
    "low": "low 低优先级",
}

PHRASES: Mapping[str, str] = {
    "money back": "refund",
    "send back": "return",
    "sent back": "return",
    "opening hours": "policy",
    "how much": "price",
    "right away": "urgent",
    "as soon as possible": "urgent",
}
"""Phrases of several words, and the concept each stands for."""

RELATED: Mapping[str, str] = {
    "warranty": "policy",
    "return": "policy",
    "exchange": "policy",
    "complaint": "policy",
    "leave": "policy",
    "policy": "handbook",
}
"""A concept and the one beside it: a message with the first is also, more weakly, about the second."""

READING = frozenset(
    "get list find search check show fetch read view lookup query see look find all every".split()
)
"""Verbs of reading: nearly every tool has one, so they hardly decide."""

ACTING = frozenset(
    "refund cancel delete create update send book remember forget pay approve buy submit close assign move "
    "transfer remove set start stop return exchange".split()
)
"""Verbs of acting: a tool whose name has one is called only when the message says it."""

HANDING = frozenset("transfer handoff delegate route to for by of the and with from".split())
"""Parts of tool names that say nothing about what the tool is for."""

CHINESE_READING: Mapping[str, str] = {
    "查询": "find", "查找": "find", "搜索": "search", "检索": "search", "列出": "list", "所有": "list",
    "全部": "list", "哪些": "list", "查看": "get", "显示": "show", "检查": "check", "查一下": "find", "看看": "get",
    "看一下": "get", "查": "find", "找": "find",
}  # fmt: skip
"""Chinese verbs of reading and their English form in tool names."""

STOPWORDS = frozenset(
    "a an the of for to in on at by with from as is are was were be been being am do does did have has had having i "
    "me my mine you your yours we our us it its he him his she her they them their this that these those there here "
    "what where when who whom whose which why how can could would will shall should may might must please tell give "
    "let know want need like about and or but if then so also not no yes any some just still left much many more "
    "hi hello hey thanks thank ok okay now today tomorrow yesterday say says said called named name into out up per "
    "long something anything everything help what's where's it's i'm i'd i've don't can't us too plus next "
    "go got make made".split()
)
"""English words that decide nothing."""

CHINESE_STOPWORDS = frozenset(
    "的 了 吗 呢 吧 啊 请 请问 帮 帮我 我 我的 我们 你 你们 您 他 她 它 在 是 有 没有 还有 还 里面 和 与 跟 什么 怎么 怎样 怎么样 "
    "哪里 哪儿 多少 几 个 一下 一个 想 想要 要 需要 可以 能 能否 知道 告诉 给 把 将 这个 那个 这 那 会 现在 关于 说 如何 为什么 因为 "
    "由于 什么时候 多久 并 并且 然后 另外 以及 同时 顺便 也 再 元 块 有关 叫 名叫 名字 么 是否 不是 不 没 就 都 很 今天 明天 昨天 谢谢 "
    "你好 您好".split()
)
"""Chinese words that decide nothing."""

GREETINGS = frozenset("hi hello hey greetings morning 你好 您好 嗨 早上好 下午好 晚上好".split())
THANKS = frozenset("thanks thank thx cheers 谢谢 多谢 感谢".split())
"""Words of small talk."""

KNOWLEDGE = frozenset({"handbook", "policy", "article"})
"""Concepts of a tool that answers questions from texts."""

LABELS: Mapping[str, str] = {
    "account": "账户", "address": "地址", "amount": "金额", "available": "可用", "carrier": "承运商", "city": "城市",
    "count": "数量", "created": "创建时间", "currency": "币种", "customer": "客户", "date": "日期", "day": "日期",
    "delivered": "送达时间", "description": "说明", "email": "邮箱", "error": "错误", "eta": "预计到达", "id": "编号",
    "items": "商品", "lines": "明细", "location": "位置", "name": "姓名", "note": "备注", "number": "编号",
    "order": "订单", "orders": "订单", "paid": "已付", "phone": "电话", "placed": "下单时间", "price": "价格",
    "product": "商品", "quantity": "数量", "reason": "原因", "refund": "退款", "refunded": "已退款",
    "remaining": "余额", "room": "房间", "seats": "座位", "shipped": "发货时间", "sku": "货号", "status": "状态",
    "stock": "库存", "total": "总额", "tracking": "物流单号", "warehouse": "仓库", "handbook": "手册", "kb": "手册",
    "book": "预订", "rooms": "房间", "customers": "客户", "get": "查询", "list": "列表", "find": "查找",
    "search": "搜索", "check": "查询", "memory": "记忆", "remember": "记住", "cancel": "取消", "weather": "天气",
}  # fmt: skip
"""Names of fields and parts of tool names, as a Chinese answer calls them."""

VERDICTS = frozenset(
    "ok passed pass valid acceptable approved correct complete done sufficient satisfied good success accepted".split()
)
"""Names of booleans that are true when nothing speaks against them."""

FINDINGS = frozenset(
    "issue issues problem problems error errors fatal risk risks warning warnings missing gap gaps".split()
)
"""Names of lists of what is wrong, which stay empty when nothing is known to be."""

NEUTRAL = ("normal", "medium", "neutral", "other", "general", "none", "unknown")
"""Enumeration values to take, in this order, when the text names none."""

SCORES = frozenset("score rating confidence quality relevance".split())
"""Names of numbers that judge."""
