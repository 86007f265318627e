// huggingface.js: node client.mjs gguf|safetensors ADDRESS REPO [FILE]
import { gguf } from "@huggingface/gguf";
import { parseSafetensorsMetadata } from "@huggingface/hub";

const [kind, hub, repo, file] = process.argv.slice(2);
if (kind === "gguf") {
	const { tensorInfos } = await gguf(`${hub}/${repo}/resolve/main/${file}`);
	console.log(tensorInfos.length);
} else {
	const all = await parseSafetensorsMetadata({ repo, hubUrl: hub });
	console.log(Object.values(all.headers).reduce((n, h) => n + Object.keys(h).filter((k) => k !== "__metadata__").length, 0));
}
