/** Bytes, a path (Node), anything with a size that is read in pieces, or a folder of such files. */
export type Source =
  | string
  | URL
  | ArrayBuffer
  | ArrayBufferView
  | { name?: string; size: number; read(offset: number, length: number): Uint8Array }
  | { name?: string; files: { path: string; size: number }[]; read(index: number, offset: number, length: number): Uint8Array };

export interface Finding {
  rule: string;
  severity: "refusal" | "danger" | "warning" | "note";
  where?: string;
  offset?: number;
  text: string;
  /** Base64 of the bytes from `from` on. */
  bytes?: string;
  from?: number;
}

export interface Verdict {
  /** False if the file was not judged. */
  judged: boolean;
  accepted: boolean;
  readable?: boolean;
  class: string;
  bodies: string;
  safe?: boolean;
  weights_only?: "yes" | "no" | "unsure";
  loaders: string[];
  findings: Finding[];
}

export interface Tensor {
  name: string;
  type: string;
  shape: number[];
  bytes: number;
  offset: number;
  part: number;
}

export interface Report {
  schema: "amn.page/1";
  name: string;
  size: number;
  format: string;
  verdict: Verdict;
  totals: { tensors: number; elements: number; bytes: number };
  metadata: { key: string; value?: unknown; length?: number }[];
  templates: { name: string; text: string }[];
  globals: { pickle: string; name: string; status: string; offset: number; uses: number }[];
  programs?: { pickle: string; lines: { offset: number; depth: number; op: string; text: string; refused?: boolean; skipped?: number }[]; left?: number }[];
  /** Of a folder or an archive. */
  files?: { name: string; size: number; kind: string; class: string }[];
  config?: { key: string; value: unknown }[];
  weights?: [name: string, scheme: string, shape: number[], tensors: number[]][];
  types: string[];
  tensors: [name: string, type: number, shape: number[], bytes: number, offset: number, part: number][];
}

export interface Numbers {
  name: string;
  type: string;
  shape: number[];
  elements: number;
  /** Elements that were read: fewer than `elements` of a sample. */
  read: number;
  /** False if the elements are not numbers; then there is nothing else. */
  numbers: boolean;
  zeros: number;
  nan: number;
  infinite: number;
  first: number;
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
  bins: [exponent: number, negative: number, positive: number][];
  grid: [rows: number, columns: number];
  cells: (number | null)[];
  rowNorms: (number | null)[];
  colNorms: (number | null)[];
  values: (number | string)[];
  largest: [index: number, value: number][];
}

export interface Comparison {
  equal: number;
  /** In decibels; null if nothing differs. */
  snr: number | null;
  different: { name: string; kind: string; types: [string, string]; count: number; max: number | null; snr: number | null }[];
}

export class Model {
  private constructor();
  readonly report: Report;
  /** True only if the gate accepted the file. */
  readonly accepted: boolean;
  readonly tensors: Tensor[];
  look(name: string, options?: { whole?: boolean }): { weight?: Numbers; stored?: Numbers };
  compare(other: Source): Promise<Comparison>;
  close(): void;
}

/** Reads and judges a file. A file that is refused is no error: see `accepted`. */
export function open(source: Source, options?: { name?: string }): Promise<Model>;
