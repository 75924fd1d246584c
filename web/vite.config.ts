import { defineConfig } from "vitest/config";

export default defineConfig({
  // Relative addresses, because the page lives below the token in the link.
  base: "./",
  build: {
    outDir: "../src/synovia/view/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  // What needs no browser; the rest is tested in one, from Python. One process starts soonest.
  test: { include: ["tests/**/*.test.ts"], isolate: false },
});
