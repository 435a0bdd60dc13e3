import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";

import { saver } from "./server.js";

/** LangGraph's own suite, the optional part too. Every saver has a tenant of its own. */
const ktrdr = {
  checkpointerName: "KtrdrSaver",
  createCheckpointer: () => saver(),
};

validate(ktrdr);
deltaChannelHistoryTests(ktrdr);
