#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model in ONNX Runtime, one process for many samples.
//
// usage: ort_run.js MODEL.onnx JOB_DIR [--threads=N] [--repeat=N]
//        ort_run.js --serve [--threads=N]
//
// JOB_DIR/job.json lists samples: [{"inputs": {name: {file, type, dims}},
// "outputs": PREFIX}]. Input files are raw little-endian elements. For each
// sample the outputs go to PREFIX<k>.raw; JOB_DIR/result.json lists their
// name, type, dims and file, and the milliseconds of each run. The module is
// found through NODE_PATH. With --repeat the first sample runs N more times
// after the others and only the time is kept.
//
// With --serve the models come in lines of standard input, {"model", "folder",
// "optimisation"}, and each is answered by one line: the contents of
// result.json, or {"error"}. A model per process would spend most of its time
// on starting.

'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array,
  uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array,
};

function option(name, otherwise) {
  const prefix = `--${name}=`;
  const found = process.argv.find((a) => a.startsWith(prefix));
  return found ? Number(found.slice(prefix.length)) : otherwise;
}

function readTensor(folder, entry) {
  const bytes = fs.readFileSync(path.join(folder, entry.file));
  const copy = new Uint8Array(bytes).buffer;
  return new ort.Tensor(entry.type, new arrays[entry.type](copy), entry.dims);
}

function readInputs(folder, sample) {
  return Object.fromEntries(Object.entries(sample.inputs).map(
      ([name, entry]) => [name, readTensor(folder, entry)]));
}

async function timed(session, feeds) {
  const start = process.hrtime.bigint();
  const outputs = await session.run(feeds);
  return [outputs, Number(process.hrtime.bigint() - start) / 1e6];
}

function writeOutputs(folder, prefix, session, outputs) {
  return session.outputNames.map((name, k) => {
    const tensor = outputs[name];
    const file = `${prefix}${k}.raw`;
    const data = tensor.data;
    fs.writeFileSync(path.join(folder, file),
        Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    return {name, type: tensor.type, dims: tensor.dims, file};
  });
}

async function run(model, folder, optimisation) {
  const job = JSON.parse(fs.readFileSync(path.join(folder, 'job.json')));
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'], intraOpNumThreads: option('threads', 2),
    interOpNumThreads: 1, graphOptimizationLevel: optimisation, logSeverityLevel: 3,
    // Without VNNI its products of u8 and i8 saturate pairs of products at 16
    // bits otherwise: a peer that is compared with has to be exact.
    extra: {session: {x64quantprecision: '1'}},
  });
  const result = {samples: [], repeat: []};
  for (const sample of job) {
    const [outputs, ms] = await timed(session, readInputs(folder, sample));
    result.samples.push(
        {ms, outputs: writeOutputs(folder, sample.outputs, session, outputs)});
  }
  const feeds = readInputs(folder, job[0]);
  for (let k = 0; k < option('repeat', 0); ++k)
    result.repeat.push((await timed(session, feeds))[1]);
  await session.release();
  return result;
}

async function serve() {
  const lines = require('readline').createInterface({input: process.stdin});
  for await (const line of lines) {
    const {model, folder, optimisation} = JSON.parse(line);
    let answer;
    try {
      answer = await run(model, folder, optimisation);
    } catch (error) {
      answer = {error: error.message};
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
}

async function main() {
  if (process.argv.includes('--serve'))
    return serve();
  const [model, folder] = process.argv.slice(2);
  const result = await run(model, folder, 'all');
  fs.writeFileSync(path.join(folder, 'result.json'), JSON.stringify(result));
}

main().catch((error) => {
  console.error(`ort_run: error: ${error.message}`);
  process.exit(1);
});
