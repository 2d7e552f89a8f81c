package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

// tourWidth is how wide the tour's own text is.
const tourWidth = 78

func (t *tour) say(text string) {
	fmt.Fprintln(t.s.out, text) //nolint:errcheck // a person who is gone is noticed by the end of input
}

// prose says a paragraph.
func (t *tour) prose(text string) {
	t.say(strings.Join(fit.Wrap(text, tourWidth), "\n"))
}

// typed is what somebody types to get the same.
func (t *tour) typed(args ...string) string {
	return "$ " + t.opt.name + " " + strings.Join(args, " ") + " --socket " + t.socket
}

// kubeloupe says and runs one of the commands, as if it had been typed.
func (t *tour) kubeloupe(ctx context.Context, args ...string) error {
	t.keys.pages.hold() // with its output on one page, if it fits
	t.say("\n" + t.typed(args...))
	err := t.run(ctx, t.s, args...)
	return errors.Join(err, t.keys.pages.letGo())
}

func (t *tour) run(ctx context.Context, s streams, args ...string) error {
	root := newRoot(s)
	root.SetArgs(append(slices.Clone(args), "--socket", t.socket))
	if err := root.ExecuteContext(ctx); err != nil {
		return errors.New("kubeloupe " + args[0] + ": " + err.Error()) // what it wants fixed is not the user's
	}
	return nil
}

// follow says and runs an events command until a line has one of these words.
func (t *tour) follow(ctx context.Context, args []string, words ...string) error {
	t.say("\n" + t.typed(args...))
	return t.await(ctx, t.s.out, args, words...)
}

func (t *tour) await(ctx context.Context, to io.Writer, args []string, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, tourPatience)
	defer cancel()
	w := &watcher{to: to, words: words, seen: cancel}
	err := t.run(ctx, streams{in: t.s.in, out: w, err: t.s.err}, args...)
	if err == nil && !w.found {
		err = fmt.Errorf("the tour waited for a line with %q of kubeloupe %s: %w", words, strings.Join(args, " "), ctx.Err())
	}
	return err
}

func events(pod string) []string { return []string{"events", "--follow", "--pod", ref(pod)} }

// milestones are events without what repeats what was seen.
func milestones(pod string) []string {
	return append(events(pod), "--kind", "pod.milestone", "--kind", "pod.action")
}

// watcher hands text on and says when a line has one of the words.
type watcher struct {
	to    io.Writer
	words []string
	seen  func()
	found bool
	rest  []byte // the line that is not complete yet
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for !w.found {
		line, rest, ok := bytes.Cut(w.rest, []byte{'\n'})
		if !ok {
			break
		}
		w.rest = rest
		if slices.ContainsFunc(w.words, func(word string) bool { return bytes.Contains(line, []byte(word)) }) {
			w.found = true
			w.seen()
		}
	}
	return w.to.Write(p)
}

// newKeys reads what is typed for as long as the process lives.
func newKeys(s streams, yes bool) *keys {
	asks := !yes && isTerminal(s.in)
	k := &keys{pages: newPages(s.out, asks)}
	if !asks {
		return k
	}
	k.lines = make(chan string)
	go func() {
		defer close(k.lines)
		for sc := bufio.NewScanner(s.in); sc.Scan(); {
			k.lines <- strings.TrimSpace(sc.Text())
		}
	}()
	return k
}

// typist gives a command its input, a line at a time, each when the person says so.
type typist struct {
	ctx   context.Context //nolint:containedctx // Read takes none
	t     *tour
	lines []string
	left  atomic.Bool // the person had enough
}

// Read implements io.Reader.
func (y *typist) Read(p []byte) (int, error) {
	if len(y.lines) == 0 {
		return 0, io.EOF
	}
	line := y.lines[0]
	if err := y.t.keys.goOn(y.ctx, "Press Enter to type '"+line+"', b to go back, q to quit: "); err != nil {
		y.left.Store(errors.Is(err, errLeft))
		y.lines = nil
		return 0, io.EOF
	}
	y.lines = y.lines[1:]
	return copy(p, line+"\n"), nil
}
