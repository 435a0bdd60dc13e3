import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globals: true, // the suite uses describe and it as it finds them
    include: ["test/**/*.spec.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
