/** The query as a command or a program, to go on with elsewhere. */

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export const COPIES = {
  gsg: (text, language, url) =>
    `gsg subscribe --peer ${url} ${language === "sparql" ? "--language sparql " : ""}${quoted(text)}`,
  curl: (text, language, url) =>
    language === "sparql"
      ? `curl -G ${url}/sparql -H 'Accept: application/sparql-results+json' --data-urlencode ${quoted(`query=${text}`)}`
      : `curl -GN ${url}/watch --data-urlencode ${quoted(`query=${text}`)}`,
  Python: (text, language, url) => `import asyncio

import gsg


async def main() -> None:
    async with gsg.connect(${JSON.stringify(url)}) as client:
        rows = await client.subscribe(${JSON.stringify(text)}, ${JSON.stringify(language)})
        async for sign, row in rows:
            print(sign, row)


asyncio.run(main())
`,
  JavaScript: (text, language, url) => `import { connect } from "./gsg.js";

const client = await connect(${JSON.stringify(url)});
const rows = await client.subscribe(${JSON.stringify(text)}, { language: ${JSON.stringify(language)} });
for await (const { sign, row } of rows) console.log(sign, row);
`,
};
