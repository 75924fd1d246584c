import { defineConfig } from "vite";

// Relative addresses, because the page lives below the token in the link.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/synovia/view/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
});
