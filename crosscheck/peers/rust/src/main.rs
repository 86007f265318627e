// Measures the published crate for run.py: lines "NAME FILE" in, billions of
// elements a second out. GGUF types by the streaming call into one buffer, the
// others by the only call there is, which allocates its result.
use anamnesis::*;
use std::io::{BufRead, Write};
use std::time::Instant;

const SOURCES: usize = 32;
const ELEMS: usize = 64 << 10;
const CALLS: usize = 8;

fn gguf(name: &str) -> Option<GgufType> {
    use GgufType::*;
    Some(match name {
        "Q4_0" => Q4_0, "Q4_1" => Q4_1, "Q5_0" => Q5_0, "Q5_1" => Q5_1, "Q8_0" => Q8_0,
        "Q2_K" => Q2_K, "Q3_K" => Q3_K, "Q4_K" => Q4_K, "Q5_K" => Q5_K, "Q6_K" => Q6_K,
        "IQ2_XXS" => IQ2_XXS, "IQ2_XS" => IQ2_XS, "IQ3_XXS" => IQ3_XXS, "IQ1_S" => IQ1_S,
        "IQ4_NL" => IQ4_NL, "IQ3_S" => IQ3_S, "IQ2_S" => IQ2_S, "IQ4_XS" => IQ4_XS,
        "IQ1_M" => IQ1_M, "TQ1_0" => TQ1_0, "TQ2_0" => TQ2_0, "MXFP4" => MXFP4,
        _ => return None,
    })
}

fn best(mut run: impl FnMut(usize)) -> f64 {
    let (mut best, mut i) = (0.0f64, 0);
    for _ in 0..40 {
        let begin = Instant::now();
        for _ in 0..CALLS {
            run(i % SOURCES);
            i += 1;
        }
        best = best.max((CALLS * ELEMS) as f64 / begin.elapsed().as_nanos() as f64);
    }
    best
}

fn measure(name: &str, data: &[u8]) -> f64 {
    let size = data.len() / SOURCES;
    let at = |i: usize| &data[i * size..(i + 1) * size];
    let scales: Vec<u8> = (0..4096).flat_map(|i| ((i % 97 + 3) as f32 / 4096.0).to_le_bytes()).collect();
    let map: Vec<u8> = NF4_CODEBOOK.iter().flat_map(|f| f.to_le_bytes()).collect();
    let what = match name.strip_suffix("/BF16") {
        Some(w) => w,
        None => return 0.0,
    };
    if let Some(t) = gguf(what) {
        let mut dst = vec![0u8; 2 * ELEMS];
        return best(|i| {
            let mut n = 0;
            dequantize_gguf_blocks_to_bf16(at(i), t, ELEMS, |b| {
                dst[n..n + b.len()].copy_from_slice(b);
                n += b.len();
                Ok(())
            }).unwrap();
            std::hint::black_box(&dst);
        });
    }
    match what {
        "FP8" => best(|i| { std::hint::black_box(dequantize_fp8_to_bf16(at(i), &scales[..16], 512, 128, Dtype::F32).unwrap()); }),
        "INT8" => best(|i| { std::hint::black_box(dequantize_bnb_int8_to_bf16(at(i), &scales[..64], 16, 4096).unwrap()); }),
        "NF4" => best(|i| { std::hint::black_box(dequantize_bnb4_to_bf16(at(i), &scales[..4096], &map, ELEMS, 64).unwrap()); }),
        "encode-NF4" => {
            let src: Vec<u8> = (0..ELEMS).flat_map(|i| ((((i * 7919 % 9973) as f32 / 9973.0 - 0.5).to_bits() >> 16) as u16).to_le_bytes()).collect();
            best(|_| { std::hint::black_box(encode_bnb4_compute_absmax(&src, &map, ELEMS, 64).unwrap()); })
        }
        "GPTQ-4" | "GPTQ-8" | "GPTQ-4-act" => {
            let bits = if what == "GPTQ-8" { 8 } else { 4 };
            let zeros = vec![0x77u8; IN / GROUP * OUT * bits as usize / 8];
            let index: Vec<u8> = (0..IN as u32).flat_map(|i| (i * 7919 % IN as u32 / GROUP as u32).to_le_bytes()).collect();
            let index = if what == "GPTQ-4-act" { Some(&index[..]) } else { None };
            best(|i| { std::hint::black_box(dequantize_gptq_to_bf16(at(i), &halves(), &zeros, index, IN, OUT, GROUP, bits, Dtype::F16).unwrap()); })
        }
        "AWQ" => {
            let zeros = vec![0x77u8; IN / GROUP * OUT / 2];
            best(|i| { std::hint::black_box(dequantize_awq_to_bf16(at(i), &halves(), &zeros, IN, OUT, GROUP, 4, Dtype::F16).unwrap()); })
        }
        _ => 0.0,
    }
}

// The packed weights of run.py.
const IN: usize = 1024;
const OUT: usize = ELEMS / IN;
const GROUP: usize = 128;

fn halves() -> Vec<u8> {
    (0..(IN / GROUP * OUT) as u16).flat_map(|i| (0x2400 | i % 97).to_le_bytes()).collect()
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut f = line.split_whitespace();
        let (name, path) = (f.next().unwrap_or(""), f.next().unwrap_or(""));
        println!("{:.3}", std::fs::read(path).map(|d| measure(name, &d)).unwrap_or(0.0));
        std::io::stdout().flush().unwrap();
    }
}
