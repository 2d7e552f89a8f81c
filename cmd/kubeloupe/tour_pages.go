package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

const (
	// promptLines are what a prompt needs below a page: an empty line and itself, and the one on which Enter leaves the cursor.
	promptLines = 3
	// mostPages bounds how many pages one can go back, mostWaits how much text waits for the reader, in bytes.
	mostPages = 200
	mostWaits = 1 << 20
)

// pages shows text so that nothing leaves a terminal unread: what has no room waits until the reader goes on. Earlier pages can be shown again.
// Without a terminal, everything is written at once.
type pages struct {
	to            io.Writer
	width, height int // of the terminal; height is 0 where there is none

	mu    sync.Mutex
	open  []byte // the page on the screen
	lines int    // of it
	rest  []row  // what has no room on it
	part  []byte // what is no whole line yet
	waits int    // the length of rest and part
	held  bool   // nothing more is shown: all from the row from on belongs together
	from  int
	shown [][]byte // the pages before
}

// row is a line that waits for its page.
type row struct {
	text []byte
	keep int // how many lines must be on the same page as this one, with it, if a page has room for them
}

func newPages(to io.Writer, asks bool) *pages {
	p := &pages{to: to}
	if asks {
		p.width, p.height = widthOf(to), heightOf(to)
	}
	return p
}

// Write implements io.Writer. It never waits for the reader.
func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.height == 0 {
		return p.to.Write(b)
	}
	if err := p.split(b); err != nil || p.held {
		return len(b), err
	}
	return len(b), p.fill()
}

// hold keeps what is written until letGo, which begins a new page for it if only that has room for all of it.
func (p *pages) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.from = p.height > 0, len(p.rest)
}

func (p *pages) letGo() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		return nil
	}
	p.held = false
	keep := 0
	for _, r := range p.rest[p.from:] {
		keep += p.needs(r.text)
	}
	if p.from < len(p.rest) {
		p.rest[p.from].keep = keep
	}
	return p.fill()
}

// split appends whole lines to rest.
func (p *pages) split(b []byte) error {
	if p.waits += len(b); p.waits > mostWaits {
		return fmt.Errorf("more than %d bytes of output for one page of the tour", mostWaits)
	}
	p.part = append(p.part, b...)
	for {
		line, after, ok := bytes.Cut(p.part, []byte{'\n'})
		if !ok {
			return nil
		}
		p.rest, p.part = append(p.rest, row{text: append(bytes.Clone(line), '\n')}), after
	}
}

// needs is how many lines of the terminal a line takes.
func (p *pages) needs(line []byte) int {
	return max(1, (ansi.StringWidth(string(line))+p.width-1)/max(p.width, 1))
}

// fill writes the lines that have room.
func (p *pages) fill() error {
	room := max(p.height-promptLines, 1)
	for len(p.rest) > 0 {
		r := p.rest[0]
		n := p.needs(r.text)
		if p.lines > 0 && (p.lines+n > room || r.keep <= room && p.lines+r.keep > room) {
			return nil
		}
		p.rest, p.waits = p.rest[1:], p.waits-len(r.text)
		if p.lines == 0 && len(bytes.TrimSpace(r.text)) == 0 {
			continue // a page does not begin with an empty line
		}
		p.open, p.lines = append(p.open, r.text...), p.lines+n
		if _, err := p.to.Write(r.text); err != nil {
			return err
		}
	}
	return nil
}

// more reports whether lines wait for the next page.
func (p *pages) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rest {
		if len(bytes.TrimSpace(r.text)) > 0 {
			return true
		}
	}
	return false
}

// turn begins the next page.
func (p *pages) turn() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 {
		if p.shown = append(p.shown, p.open); len(p.shown) > mostPages {
			p.shown = p.shown[1:]
		}
	}
	p.open, p.lines = nil, 0
	return p.fill()
}

// release writes all that waits, and no longer waits for the reader.
func (p *pages) release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.height, p.held = 0, false
	var all []byte
	for _, r := range p.rest {
		all = append(all, r.text...)
	}
	_, err := p.to.Write(append(all, p.part...))
	p.rest, p.part, p.waits = nil, nil, 0
	return err
}

// page returns a page by its number, from 0; the last one is that on the screen.
func (p *pages) page(n int) (text []byte, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < len(p.shown) {
		return p.shown[n], len(p.shown) + 1
	}
	return p.open, len(p.shown) + 1
}

// keys is the person, who continues, goes back or leaves.
type keys struct {
	pages *pages
	lines chan string // nil when nobody is asked; closed when there are no more
}

// goOn shows what waits, page by page, and waits for Enter. The error is errLeft when the person leaves.
func (k *keys) goOn(ctx context.Context, prompt string) error {
	if k.lines == nil {
		return ctx.Err()
	}
	for k.pages.more() {
		if err := k.ask(ctx, "More: Enter. Back: b. Quit: q. "); err != nil {
			return err
		}
	}
	return k.ask(ctx, prompt)
}

// ask waits for Enter below the page on the screen, and shows earlier pages.
func (k *keys) ask(ctx context.Context, prompt string) error {
	_, of := k.pages.page(0)
	at := of - 1
	for {
		text := prompt
		if at < of-1 {
			text = fmt.Sprintf("Page %d of %d. On: Enter. Back: b. Quit: q. ", at+1, of)
		}
		fmt.Fprint(k.pages.to, "\n"+text) //nolint:errcheck // a person who is gone is noticed by the end of input
		line, err := k.line(ctx)
		switch {
		case err != nil:
			return err
		case line == "q":
			return errLeft
		case line == "b":
			at = max(at-1, 0)
		case line == "" && at == of-1:
			return k.pages.turn()
		case line == "":
			at++
		default:
			continue
		}
		page, _ := k.pages.page(at)
		k.pages.to.Write(page) //nolint:errcheck // as above
	}
}

// line is what is typed next.
func (k *keys) line(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-k.lines:
		if !ok {
			return "", errLeft
		}
		return line, nil
	}
}
