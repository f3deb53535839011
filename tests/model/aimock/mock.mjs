// Serves what aimock.cpp asks for, on a free port, which is printed.
import { LLMock } from '@copilotkit/aimock';

const mock = new LLMock({ port: 0, chunkSize: 5, latency: 0 });
const long = 'This text is long enough to be cut off in the middle.';
const twice = [
  { name: 'get_weather', arguments: '{"city":"Oslo"}' },
  { name: 'get_weather', arguments: '{"city":"Rome"}' },
];
mock.onMessage('hello', { content: 'Hi there, how are you?' });
mock.onMessage('think', { content: 'Done.', reasoning: 'Let me see.', reasoningSignature: 'c2lnbmF0dXJl' });
mock.on({ userMessage: 'weather', hasToolResult: false }, { toolCalls: twice });
mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Sunny in both.' });
mock.onMessage('long', { content: long, finishReason: 'length' });
mock.on({ userMessage: 'cut' }, { content: long }, { truncateAfterChunks: 3 });
mock.on({ userMessage: 'hang' }, { content: long }, { chunkSize: 5, latency: 3000 });
mock.onMessage('fail', { error: { message: 'overloaded', type: 'server_error' }, status: 503 });
mock.onMessage('denied', { error: { message: 'no such key', type: 'authentication_error' }, status: 401 });
await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
