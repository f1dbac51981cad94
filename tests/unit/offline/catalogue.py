"""Tools as a team would offer them: a shop's, and those of other fields that the rules have never seen."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def tool(name: str, description: str, properties: Schema, *, required: list[str]) -> Schema:
    """An OpenAI function tool."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


ORDERS_GET = tool(
    "orders_get",
    "Look up one order by its number.\n\nGives status, dates, days late, carrier and tracking code, "
    "lines with prices, the total, and what was\nand what can still be refunded.",
    {
        "number": {
            "description": "Order number, such as 1042.",
            "maximum": 2000000000,
            "minimum": 1,
            "title": "Number",
            "type": "integer",
        }
    },
    required=["number"],
)
ORDERS_LIST = tool(
    "orders_list",
    "List the orders of one customer, newest first, with status, dates and totals.\n\nNeeds the "
    "customer's id; find it with customers.find.",
    {
        "customer": {
            "description": "Customer id, such as C-0001.",
            "maxLength": 40,
            "minLength": 1,
            "title": "Customer",
            "type": "string",
        },
        "status": {
            "anyOf": [
                {
                    "enum": ["placed", "paid", "packed", "shipped", "delivered", "cancelled", "returned"],
                    "type": "string",
                },
                {"type": "null"},
            ],
            "default": None,
            "description": "Only orders in this state; leave out for all.",
            "title": "Status",
        },
        "limit": {
            "default": 10,
            "description": "At most so many orders.",
            "maximum": 50,
            "minimum": 1,
            "title": "Limit",
            "type": "integer",
        },
    },
    required=["customer"],
)
ORDERS_REFUND = tool(
    "orders_refund",
    "Refund an amount of one order to the customer; this moves money.\n\nLook the order up with orders.get "
    "first: the amount must not exceed what is refundable. The result's\noutcome is `created`, or "
    "`already_recorded` when this very call was carried out before.",
    {
        "order": {
            "description": "Order number, such as 1042.",
            "maximum": 2000000000,
            "minimum": 1,
            "title": "Order",
            "type": "integer",
        },
        "amount": {
            "description": "Amount in the order's currency, such as 84.90; at most two decimals.",
            "exclusiveMinimum": 0,
            "maximum": 1000000,
            "title": "Amount",
            "type": "number",
        },
        "reason": {
            "description": "Why the customer gets the money back.",
            "maxLength": 500,
            "minLength": 3,
            "title": "Reason",
            "type": "string",
        },
    },
    required=["order", "amount", "reason"],
)
CUSTOMERS_FIND = tool(
    "customers_find",
    "Find customers by id, e-mail address or part of the name.\n\nGives at most 10; when `more` is true "
    "there are others, so narrow the query.",
    {
        "query": {
            "description": "Customer id (C-0001), e-mail address, or part of the name.",
            "maxLength": 200,
            "minLength": 1,
            "title": "Query",
            "type": "string",
        }
    },
    required=["query"],
)
STOCK_CHECK = tool(
    "stock_check",
    "Check price and stock of products by SKU or by words of their name.\n\nGives for each product the "
    "pieces that can be sold, warehouse by warehouse, and the day on which more\nare expected. At most 10; "
    "when `more` is true there are others, so narrow the words.",
    {
        "product": {
            "description": "SKU, or words of the product's name or category.",
            "maxLength": 200,
            "minLength": 1,
            "title": "Product",
            "type": "string",
        }
    },
    required=["product"],
)
KB_SEARCH = tool(
    "kb_search",
    "Search the company's handbook: returns, refunds, delivery, warranty, care, opening hours.\n\nGives up "
    "to three passages with their citation, such as `returns.md#exchange`. State only rules that a\npassage "
    "contains, and name its citation.",
    {
        "query": {
            "description": "A short question or a few keywords, in the customer's language or in English.",
            "maxLength": 400,
            "minLength": 1,
            "title": "Query",
            "type": "string",
        }
    },
    required=["query"],
)
RESULTS_READ = tool(
    "results_read",
    "Read on in the result of an earlier tool call of this conversation that was shortened.\n\nGives the "
    "text from `offset` on, the result's `total` characters, and `next_offset` for the next page,\nnull at "
    "the end. To look for a word first, use results.find.",
    {
        "call": {
            "description": "Id of the earlier tool call, as the line in its shortened result names it.",
            "maxLength": 200,
            "minLength": 1,
            "title": "Call",
            "type": "string",
        },
        "offset": {
            "default": 0,
            "description": "First character to read, counted from 0.",
            "title": "Offset",
            "type": "integer",
        },
    },
    required=["call"],
)
RESULTS_FIND = tool(
    "results_find",
    "Find a word in the whole result of an earlier tool call of this conversation.\n\nGives the `offset` of "
    "at most 20 places with the text around each, to read on from with results.read;\nwhen `more` is true "
    "there are others, so look for longer words.",
    {
        "call": {
            "description": "Id of the earlier tool call, as the line in its shortened result names it.",
            "title": "Call",
            "type": "string",
        },
        "text": {
            "description": "Word or words to look for; capitals do not matter.",
            "title": "Text",
            "type": "string",
        },
    },
    required=["call", "text"],
)
SHOP = [ORDERS_GET, ORDERS_LIST, ORDERS_REFUND, CUSTOMERS_FIND, STOCK_CHECK, KB_SEARCH]

ROOMS_BOOK = tool(
    "rooms_book",
    "Book a meeting room for a day.",
    {
        "room": {"type": "string", "description": "Name of the room."},
        "day": {"type": "string", "format": "date"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 40, "description": "How many people come."},
    },
    required=["room", "day", "seats"],
)
ROOMS_LIST = tool("rooms_list", "List the meeting rooms with their equipment.", {}, required=[])
FLIGHTS_SEARCH = tool(
    "flights_search",
    "Search flights between two cities on a date.",
    {
        "origin": {"type": "string", "description": "City of departure."},
        "destination": {"type": "string", "description": "City of arrival."},
        "date": {"type": "string", "format": "date"},
    },
    required=["origin", "destination", "date"],
)
WEATHER_FORECAST = tool(
    "weather_forecast",
    "Weather forecast for a city.",
    {"city": {"type": "string"}},
    required=["city"],
)
MEMORY_REMEMBER = tool(
    "memory_remember",
    "Remember a fact about the user for later conversations.",
    {"text": {"type": "string", "description": "The fact."}},
    required=["text"],
)
TRANSFER_TO_WRITER = tool("transfer_to_writer", "Ask agent 'writer' for help.", {}, required=[])
TICKETS_CREATE = tool(
    "tickets_create",
    "创建一张工单。",
    {
        "title": {"type": "string", "description": "工单标题"},
        "priority": {"type": "string", "enum": ["low", "normal", "high", "urgent"]},
    },
    required=["title", "priority"],
)
OFFICE = [
    ROOMS_BOOK,
    ROOMS_LIST,
    FLIGHTS_SEARCH,
    WEATHER_FORECAST,
    MEMORY_REMEMBER,
    TRANSFER_TO_WRITER,
    TICKETS_CREATE,
]
