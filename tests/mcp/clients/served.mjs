// Starts the server over HTTP, and checks.
import { spawn } from 'node:child_process'
import assert from 'node:assert/strict'

/** Starts PROGRAM --http. Returns its address, and how it is ended. */
export async function overHttp(program) {
  const child = spawn(program, ['--http'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const port = await new Promise((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (piece) => {
      text += piece
      if (text.includes('\n')) resolve(text.trim())
    })
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    end: async () => {
      child.stdin.end()
      assert.equal(await ended, 0)
    }
  }
}

export function right(what) {
  console.log(`right: ${what}`)
}

/** The time that what must come has, because a busy machine may pause anybody for seconds. */
export const patience = { timeout: 300_000, maxTotalTimeout: 300_000 }
