
// The module in workers: one for answers while typing, and one that derives and proves.
const LONGEST = 30000;

const workerAddress = URL.createObjectURL(
  new Blob([document.getElementById("worker-text").textContent], { type: "text/javascript" }),
);

// Unpacked in a separate worker: meanwhile the page is painted and can be used.
const compiled = new Promise((resolve) => {
  const worker = new Worker(workerAddress);
  worker.onmessage = ({ data }) => {
    worker.terminate();
    resolve(data.module);
  };
  worker.postMessage({ packed: document.getElementById("module").textContent });
});

// Runs calls one after another. Of several waiting calls for the same answer, only the last one runs.
class Engine {
  constructor() {
    this.waiting = [];
    this.count = 0;
    this.start();
  }

  start() {
    this.running = null;
    this.worker = new Worker(workerAddress);
    this.worker.onmessage = ({ data }) => this.answer(data);
    this.worker.onerror = (event) => this.answer({ id: this.running?.id, error: event.message });
    compiled.then((module) => {
      this.worker.postMessage({ module });
      this.isReady = true;
      this.next();
    });
  }

  // The answer of a call, or null if a later call of the same name replaced it.
  ask(call, ...args) {
    return new Promise((resolve, reject) => {
      this.waiting = this.waiting.filter((other) => other.call !== call || other.resolve(null));
      this.waiting.push({ id: ++this.count, call, args, resolve, reject });
      this.next();
    });
  }

  next() {
    if (this.running || !this.isReady || !this.waiting.length) return;
    this.running = this.waiting.shift();
    this.running.timer = setTimeout(() => this.answer({ id: this.running.id, error: "it took too long" }), LONGEST);
    this.worker.postMessage({ id: this.running.id, call: this.running.call, args: this.running.args });
  }

  answer({ id, result, error, took }) {
    const { running } = this;
    if (!running || running.id !== id) return;
    clearTimeout(running.timer);
    this.running = null;
    if (error) {
      // A module that failed during a call is not used again.
      this.worker.terminate();
      this.isReady = false;
      this.start();
      running.reject(new Error(error));
    } else running.resolve({ value: result, took, call: running.call });
    this.next();
  }
}
