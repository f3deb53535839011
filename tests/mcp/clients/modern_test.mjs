// The official SDK's client of the version without sessions, over both transports: modern_test.mjs PROGRAM
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { overHttp, patience, right } from './served.mjs'

const program = process.argv[2]

async function drive(name, transport) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } }
  )
  const questions = []
  client.setRequestHandler('elicitation/create', (request) => {
    questions.push(request.params)
    return { action: 'accept', content: { answer: 'train' } }
  })
  await client.connect(transport, patience)
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  const { tools } = await client.listTools({}, patience)
  assert.equal(tools.length, 6)
  const call = (tool, args = {}, options = {}) =>
    client.callTool({ name: tool, arguments: args }, { ...patience, ...options })
  assert.equal((await call('add', { a: 2, b: 3 })).content[0].text, '5')
  await assert.rejects(call('nobody'), (error) => error.code === -32602)
  right(`${name} without sessions: tools`)

  const trip = await call('trip', { city: 'Rome' })
  assert.deepEqual(trip.structuredContent.log, ['looked at Rome', 'train'])
  assert.equal(questions.length, 1)
  right(`${name} without sessions: a question, and the call that answers it`)

  // A client of this SDK may drop reports that come in one piece with the answer, so this call has none.
  const stop = new AbortController()
  const reports = []
  const onprogress = (report) => {
    reports.push(report)
    if (reports.length === 3) stop.abort('enough')
  }
  await assert.rejects(call('endless', {}, { signal: stop.signal, onprogress }))
  assert.equal(reports[0].message, 'working')
  assert.ok(reports[0].progress < reports[1].progress && reports[1].progress < reports[2].progress)
  assert.equal((await call('add', { a: 20, b: 22 })).content[0].text, '42')
  right(`${name} without sessions: progress, and a call that is cancelled`)
  await client.close()
}

await drive('stdio', new StdioClientTransport({ command: program, stderr: 'ignore' }))
const http = await overHttp(program)
await drive('http', new StreamableHTTPClientTransport(http.url))
await http.end()
