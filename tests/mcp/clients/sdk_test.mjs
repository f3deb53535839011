// The official SDK's client, with sessions, over both transports: sdk_test.mjs PROGRAM
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { overHttp, patience, right } from './served.mjs'

const program = process.argv[2]

async function drive(name, transport) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } })
  const questions = []
  let answer = { action: 'accept', content: { answer: 'train' } }
  client.setRequestHandler(ElicitRequestSchema, (request) => {
    questions.push(request.params)
    return answer
  })
  await client.connect(transport, patience)
  assert.equal(client.getServerVersion().name, 'stategraph-test')
  assert.equal(client.getInstructions(), 'For tests.')

  const { tools } = await client.listTools({}, patience)
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ['add', 'count', 'endless', 'fail', 'remove', 'trip']
  )
  await client.ping(patience)
  right(`${name}: ${tools.length} tools`)

  const call = (tool, args = {}, options = {}) =>
    client.callTool({ name: tool, arguments: args }, undefined, { ...patience, ...options })
  assert.equal((await call('add', { a: 2, b: 3 })).content[0].text, '5')
  assert.equal((await call('add', { a: 'x' })).isError, true)
  assert.match((await call('fail')).content[0].text, /the disk is full/)
  await assert.rejects(call('nobody'), (error) => error.code === -32602)
  right(`${name}: results and errors`)

  const trip = await call('trip', { city: 'Rome' })
  assert.deepEqual(trip.structuredContent.log, ['looked at Rome', 'train'])
  assert.equal(questions[0].message, 'By train or by plane?')
  const again = await call('trip', { city: 'Oslo', thread_id: trip._meta['stategraph/thread_id'] })
  assert.equal(again.structuredContent.log.length, 4)
  answer = { action: 'decline' }
  assert.match((await call('remove')).content[0].text, /not approved/)
  right(`${name}: questions, and threads that continue`)

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
  right(`${name}: progress, and a call that is cancelled`)
  if (transport.terminateSession) await transport.terminateSession()
  await client.close()
}

await drive('stdio', new StdioClientTransport({ command: program, stderr: 'ignore' }))
const http = await overHttp(program)
await drive('http', new StreamableHTTPClientTransport(http.url))
await http.end()
