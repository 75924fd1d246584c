import { brotliCompressSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const LICENSES = "licenses.md";

/** Put the licences of bundled packages into the page, which exported pages are made from. */
const licensesInPage: Plugin = {
  name: "licenses-in-page",
  generateBundle: {
    order: "post",
    handler(_options, bundle) {
      const [page, licenses] = [bundle["index.html"], bundle[LICENSES]];
      if (page?.type !== "asset" || licenses?.type !== "asset")
        throw new Error(`the bundle must hold index.html and ${LICENSES}`);
      const text = `<script type="text/plain" id="licenses">\n${licenses.source}</script>`;
      page.source = String(page.source).replace("</body>", () => `${text}\n</body>`);
    },
  },
};

/** Put a compressed copy beside each script and style sheet, for browsers that take it. */
const compressed: Plugin = {
  name: "compressed",
  generateBundle: {
    order: "post",
    handler(_options, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        if (!/\.(js|css)$/.test(name)) continue;
        const source = brotliCompressSync(file.type === "chunk" ? file.code : file.source);
        this.emitFile({ type: "asset", fileName: `${name}.br`, source });
      }
    },
  },
};

export default defineConfig({
  // Relative addresses, because the page lives below the token in the link.
  base: "./",
  plugins: [licensesInPage, compressed],
  build: {
    outDir: "../src/synovia/view/page",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
    license: { fileName: LICENSES },
  },
  // What needs no browser; the rest is tested in one, from Python. One process starts soonest.
  test: { include: ["tests/**/*.test.ts"], isolate: false },
});
