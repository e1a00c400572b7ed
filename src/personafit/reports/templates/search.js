// Searching items for words: in the question, the person and the answers, and last in the raw replies, of which there are most.
// Texts are kept in lower case. They are read while the browser has nothing else to do, or all at once when somebody waits for them;
// replies only once somebody is about to search.

const SAID = ["detail", "reply", "reasoning"];
const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);
const idle = () => new Promise((go) => (window.requestIdleCallback || setTimeout)(go));

// Of a word in the replies of an item; 0 is not yet looked for.
const ABSENT = 1;
const PRESENT = 2;

class ItemSearch {
  constructor(index, names, { people, texts, asks }) {
    Object.assign(this, { index, names, people, texts, asks, hurried: false, textsRead: false, hits: new Map() });
    this.lowered = { items: [], people: [], texts: [], replies: [] };
  }

  get repliesRead() {
    return this.lowered.replies.length === this.index.id.length;
  }

  // How much of the replies has been read.
  get share() {
    return this.lowered.replies.length / this.index.id.length;
  }

  readTexts() {
    this.reading ??= this.#readTexts();
    return this.reading;
  }

  readReplies() {
    this.replying ??= this.#readReplies();
    return this.replying;
  }

  // From now on without waiting for idle time.
  hurry() {
    this.hurried = true;
  }

  async #readTexts() {
    for (const name of ["people", "texts"]) {
      for (let number = 0; number < this[name].blocks.length; number += 1) {
        if (!this.hurried) await idle();
        for (const text of await this[name].block(number)) this.lowered[name].push(text.toLowerCase());
      }
    }
    this.lowered.people = this.lowered.people.map((text, place) => `${this.names[place].toLowerCase()} ${text}`);
    this.lowered.items = this.index.id.map((id, place) => `${id} ${this.index.question[place]}`.toLowerCase());
    this.textsRead = true;
  }

  async #readReplies() {
    await this.readTexts();
    for (let number = 0; number < this.asks.blocks.length; number += 1) {
      if (!this.hurried) await idle();
      // Decoded by itself: what is held of the blocks belongs to the items that are looked at.
      const items = this.asks.decoded.get(number) ?? (await Blocks.decode(this.asks.blocks[number]));
      for (const item of items) {
        const said = new Set(SAID.flatMap((kind) => item[kind] ?? []));
        said.delete(null);
        this.lowered.replies.push([...said].join("\n").toLowerCase());
      }
    }
  }

  // Where a word occurs; of a word that only grew by what was typed, only where its beginning occurred is looked at.
  hit(word) {
    if (this.hits.has(word)) return this.hits.get(word);
    const before = [...this.hits.values()].reverse().find((one) => word.includes(one.word));
    const marks = (kind) => {
      const marked = new Uint8Array(this.lowered[kind].length);
      for (let place = 0; place < marked.length; place += 1) {
        if (!before || before[kind][place]) marked[place] = this.lowered[kind][place].includes(word) ? 1 : 0;
      }
      return marked;
    };
    const found = {
      word, before, items: marks("items"), people: marks("people"), texts: marks("texts"), replies: new Uint8Array(this.index.id.length),
    };
    this.hits.set(word, found);
    if (this.hits.size > 30) this.hits.delete(this.hits.keys().next().value);
    return found;
  }

  // Whether the question, the person or an answer has the word.
  inTexts(hit, place) {
    return hit.items[place] || hit.people[this.index.person[place]] || this.index.answers[place].some((text) => hit.texts[text])
      || this.index.texts?.[place].some((text) => hit.texts[text]);
  }

  inReplies(hit, place) {
    if (!hit.replies[place]) {
      const never = hit.before?.replies[place] === ABSENT;
      hit.replies[place] = !never && this.lowered.replies[place].includes(hit.word) ? PRESENT : ABSENT;
    }
    return hit.replies[place] === PRESENT;
  }

  // A test of items: whether each of the words occurs somewhere.
  test(words, replies) {
    const hits = words.map((word) => this.hit(word));
    return (place) => hits.every((hit) => this.inTexts(hit, place) || (replies && this.inReplies(hit, place)));
  }

  // Those of the words for which an item is here only because of its replies.
  onlyInReplies(words, place) {
    return this.textsRead ? words.filter((word) => !this.inTexts(this.hit(word), place)) : [];
  }
}

