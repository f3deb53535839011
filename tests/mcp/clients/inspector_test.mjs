// The protocol's inspector, as a program: inspector_test.mjs PROGRAM NODE
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { overHttp, right } from './served.mjs'

const [program, node] = process.argv.slice(2)
const inspector = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'

async function inspect(target, ...options) {
  const { stdout } = await promisify(execFile)(node, [inspector, '--cli', ...target, ...options], {
    maxBuffer: 1 << 24,
    env: { ...process.env, HOME: process.cwd() }
  })
  return JSON.parse(stdout)
}

const http = await overHttp(program)
for (const target of [[program], [http.url.href, '--transport', 'http']]) {
  const { tools } = await inspect(target, '--method', 'tools/list')
  assert.equal(tools.length, 6)
  const sum = await inspect(
    target, '--method', 'tools/call', '--tool-name', 'add', '--tool-arg', 'a=2', '--tool-arg', 'b=3'
  )
  assert.equal(sum.content[0].text, '5')
  right(`the inspector: ${target.length === 1 ? 'stdio' : 'http'}`)
}
await http.end()
