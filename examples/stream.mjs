// Ask an assistant with the JavaScript SDK: steps, tool calls and tokens as they come.
//
//   npm --prefix examples ci
//   SIGNALBOX_TOKEN=$(.venv/bin/signalbox token --tenant acme --user demo) \
//   ASSISTANT_ID=$(.venv/bin/signalbox ids | awk '$1 == "acme/support" { print $2 }') \
//     node examples/stream.mjs "Where is order 1001?"

import { Client } from "@langchain/langgraph-sdk";

const question = process.argv[2] ?? "Where is order 1001?";
const { SIGNALBOX_TOKEN: token, ASSISTANT_ID: assistant } = process.env;
if (!token || !assistant) {
  console.error("SIGNALBOX_TOKEN and ASSISTANT_ID are needed; the first lines of this file show how.");
  process.exit(2);
}

const client = new Client({
  apiUrl: process.env.SIGNALBOX_URL ?? "http://127.0.0.1:2024",
  apiKey: null,
  defaultHeaders: { Authorization: `Bearer ${token}` },
});

const thread = await client.threads.create();
const stream = client.runs.stream(thread.thread_id, assistant, {
  input: { messages: [{ role: "user", content: question }] },
  streamMode: ["updates", "messages-tuple"],
});

for await (const { event, data } of stream) {
  if (event === "messages" && data[0].type === "AIMessageChunk") {
    process.stdout.write(data[0].content);
  } else if (event === "updates") {
    for (const [node, update] of Object.entries(data)) {
      console.log(`\n[step] ${node}`);
      for (const message of update.messages) {
        for (const call of message.tool_calls ?? []) console.log(`[tool call] ${call.name} ${JSON.stringify(call.args)}`);
        if (message.type === "tool") console.log(`[tool row] ${message.content}`);
      }
    }
  } else if (event === "error") {
    console.error(`\n[error] ${data.message}`);
    process.exit(1);
  }
}
