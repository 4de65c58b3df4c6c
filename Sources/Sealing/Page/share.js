// Opens a shared file of an encrypted container in the browser: "Shares" in the page "The container format" has every byte.
//
//     #2.KEY.NAME?CHANGES     the key of the share, the file's name, and how the query of the link to the bytes differs
//                             from that of this page; the bytes are beside it, without .html
//
// Nothing is saved before all of it was verified. The pieces are Blobs, which the browser keeps on disk when they are many;
// not in the origin's file system, which other pages of the same server can read and where they would stay.
"use strict";

const HEADER = 108;
const SEGMENT = 65536;
const TAG = 16;
// The longest object: 5 TiB.
const LIMIT = 5 * 2 ** 40;
// How much is decrypted at a time, and put into one Blob: 8 MiB.
const BATCH = 128;
// From here on, the browser may have no room for the file: 2 GiB.
const LONG = 2 * 2 ** 30;

const COMMAND = "On a computer with Dewpoint, this opens it as well: dewpoint open-share LINK";
const BROKEN = "The file is damaged or incomplete on the server. Nothing was saved.";
const ENDED = "This link has ended, or the file is no longer shared.";
const CUT = "A part of the link is missing. Copy all of it, with everything behind the #.";
const INTERRUPTED = "The download was interrupted. Nothing was saved; try it again.";
const INSECURE = `This browser decrypts only on pages that come over HTTPS, and this one does not. ${COMMAND}`;

/** A sentence for the reader. */
class Refusal extends Error {}

const element = id => document.getElementById(id);

function say(text, isBad = false) {
  element("message").textContent = text;
  element("message").className = isBad ? "bad" : "";
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { throw new Refusal(CUT); }
}

/** The name without what would show it as another one, or lead out of a directory. */
function harmless(name) {
  // eslint-disable-next-line no-control-regex
  const plain = name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/g, "_");
  return plain === "" || plain === "." || plain === ".." ? "file" : plain;
}

/** What the link says: the key's bytes, the name, and where the bytes are. */
function link() {
  const parts = /^#2\.([A-Za-z0-9_-]{43})\.([^?]*)\?(.*)$/.exec(location.hash);
  if (!parts || !location.pathname.endsWith(".html")) throw new Refusal(CUT);
  const key = Uint8Array.from(atob(parts[1].replaceAll("-", "+").replaceAll("_", "/") + "="), c => c.charCodeAt(0));
  const named = text => text.split("=")[0];
  const changes = parts[3].split("&").filter(text => text !== "");
  const kept = location.search.slice(1).split("&").filter(old => !changes.some(text => named(text) === named(old)));
  const query = kept.concat(changes.filter(text => text.includes("=") && !text.endsWith("="))).join("&");
  return { key, name: harmless(decoded(parts[2])), url: `${location.pathname.slice(0, -".html".length)}?${query}` };
}

async function request(url, headers) {
  let answer;
  try {
    answer = await fetch(url, { headers, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
  } catch { throw new Refusal(INTERRUPTED); }
  if ([401, 403, 404, 410].includes(answer.status)) throw new Refusal(ENDED);
  if (!answer.ok) throw new Refusal(`The server answered with the status ${answer.status}. Try it again later.`);
  return answer;
}

/** Takes bytes from a stream in the lengths that are asked for. */
class Reader {
  constructor(answer) {
    this.reader = answer.body.getReader();
    this.pieces = [];
    this.length = 0;
  }

  /** Up to so many bytes: fewer only at the end. */
  async take(count) {
    while (this.length < count) {
      let step;
      try { step = await this.reader.read(); } catch { throw new Refusal(INTERRUPTED); }
      if (step.done) break;
      this.pieces.push(step.value);
      this.length += step.value.length;
    }
    const bytes = new Uint8Array(Math.min(count, this.length));
    let filled = 0;
    while (filled < bytes.length) {
      const piece = this.pieces[0], part = piece.subarray(0, bytes.length - filled);
      bytes.set(part, filled);
      filled += part.length;
      if (part.length === piece.length) this.pieces.shift(); else this.pieces[0] = piece.subarray(part.length);
    }
    this.length -= bytes.length;
    return bytes;
  }

  cancel() { this.reader.cancel().catch(() => {}); }
}

function nonce(index, kind) {
  const bytes = new Uint8Array(12);
  new DataView(bytes.buffer).setBigUint64(3, BigInt(index));
  bytes[11] = kind;
  return bytes;
}

async function opened(key, iv, sealed) {
  try {
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv, tagLength: 8 * TAG }, key, sealed));
  } catch { throw new Refusal(BROKEN); }
}

/** The object's key, the length of the file and with its padding, from the header. */
async function header(secret, bytes) {
  const magic = [...new TextEncoder().encode("DEWSEAL"), 2];
  if (bytes.length !== HEADER || magic.some((byte, index) => bytes[index] !== byte)) throw new Refusal(BROKEN);
  const material = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode("dewpoint share v2");
  const derived = new Uint8Array(
    await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: bytes.subarray(12, 44), info }, material, 512));
  if (derived.subarray(32).some((byte, index) => byte !== bytes[44 + index])) throw new Refusal(BROKEN);
  const key = await crypto.subtle.importKey("raw", derived.subarray(0, 32), "AES-GCM", false, ["decrypt"]);
  const lengths = new DataView((await opened(key, nonce(0, 2), bytes.subarray(76))).buffer);
  const length = Number(lengths.getBigUint64(0)), padded = Number(lengths.getBigUint64(8));
  if (!(length <= padded && padded <= LIMIT)) throw new Refusal(BROKEN);
  return { key, length, padded };
}

/** The verified file, as a Blob. */
async function file(secret, reader, progress) {
  const { key, length, padded } = await header(secret, await reader.take(HEADER));
  const count = Math.max(1, Math.ceil(padded / SEGMENT));
  const blobs = [];
  let left = length;
  for (let first = 0; first < count; first += BATCH) {
    const end = Math.min(first + BATCH, count);
    const wanted = Math.min(padded - first * SEGMENT, (end - first) * SEGMENT) + (end - first) * TAG;
    const sealed = await reader.take(wanted);
    if (sealed.length !== wanted) throw new Refusal(BROKEN);
    const work = [];
    for (let index = first; index < end; index++) {
      const start = (index - first) * (SEGMENT + TAG);
      work.push(opened(key, nonce(index, index === count - 1 ? 1 : 0), sealed.subarray(start, start + SEGMENT + TAG)));
    }
    const parts = (await Promise.all(work)).map(part => {
      const kept = part.subarray(0, Math.min(left, part.length));
      left -= kept.length;
      return kept;
    });
    blobs.push(new Blob(parts));
    progress(end / count);
  }
  if ((await reader.take(1)).length > 0) throw new Refusal(BROKEN);
  return new Blob(blobs, { type: "application/octet-stream" });
}

function shown(byteCount) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let number = byteCount, unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit++; }
  return `${unit === 0 ? number : number.toFixed(1)} ${units[unit]}`;
}

async function save({ key, name, url }) {
  element("open").disabled = true;
  element("save").hidden = true;
  element("progress").hidden = false;
  element("progress").value = 0;
  say("Downloading and decrypting…");
  const reader = new Reader(await request(url));
  let whole;
  try {
    whole = await file(key, reader, part => { element("progress").value = part; });
  } catch (error) {
    reader.cancel();
    throw error;
  }
  const old = element("save").href;
  if (old) URL.revokeObjectURL(old);
  element("save").href = URL.createObjectURL(whole);
  element("save").download = name;
  element("save").hidden = false;
  element("save").click();
  say("The file is whole and was not changed. Your browser saves it.");
}

/** Runs some work, and says why it failed. */
async function attempt(work) {
  try { await work(); } catch (error) {
    say(error instanceof Refusal ? error.message : `This browser cannot open the file: ${error.message} ${COMMAND}`, true);
  }
}

attempt(async () => {
  const found = link();
  element("name").textContent = found.name;
  document.title = found.name;
  if (!window.isSecureContext || !crypto.subtle) throw new Refusal(INSECURE);
  say("");
  const reader = new Reader(await request(found.url, { Range: `bytes=0-${HEADER - 1}` }));
  const { length } = await header(found.key, await reader.take(HEADER));
  reader.cancel();
  element("size").textContent = shown(length);
  if (length > LONG) say(`A browser may not have the room for a file as long as this. ${COMMAND}`);
  element("open").disabled = false;
  element("open").addEventListener("click", () => attempt(() => save(found)).finally(() => {
    element("open").disabled = false;
    element("progress").hidden = true;
  }));
});
// Another link to the same page, pasted into the same tab.
window.addEventListener("hashchange", () => location.reload());
