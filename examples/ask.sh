#!/bin/sh
# Ask an assistant with curl: one question, the whole answer.   examples/ask.sh "Where is order 1001?" [tenant/name]
# SIGNALBOX_URL and SIGNALBOX_TOKEN say where and as whom; on a developer's machine both may be left out.
set -eu
question=${1:?usage: examples/ask.sh QUESTION [TENANT/NAME]}
name=${2:-acme/support}
bin=$(dirname "$0")/../.venv/bin
url=${SIGNALBOX_URL:-http://127.0.0.1:2024}
token=${SIGNALBOX_TOKEN:-$("$bin/signalbox" token --tenant "${name%%/*}" --user demo)}
id=$("$bin/signalbox" ids | awk -v name="$name" '$1 == name { print $2 }')
body=$("$bin/python" -c 'import json, sys
print(json.dumps({"assistant_id": sys.argv[1], "input": {"messages": [{"role": "user", "content": sys.argv[2]}]}}))' \
    "${id:?there is no assistant $name; signalbox ids lists them}" "$question")
curl --silent --show-error --fail-with-body "$url/runs/wait" \
    --header "Authorization: Bearer $token" --header "Content-Type: application/json" --data "$body" |
    "$bin/python" -c 'import json, sys
answer = json.load(sys.stdin)
if "__error__" in answer: sys.exit("error: " + answer["__error__"]["message"])
print(answer["messages"][-1]["content"])'
