package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func numbered(n int) (text string) {
	for i := range n {
		text += fmt.Sprintln("line", i+1)
	}
	return text
}

// TestPages writes more than a page, and reads it page by page, back and forth.
func TestPages(t *testing.T) {
	var out bytes.Buffer
	k := &keys{pages: &pages{to: &out, width: 10, height: 8}, lines: make(chan string, 20)}
	typed := func(lines ...string) {
		for _, l := range lines {
			k.lines <- l
		}
	}
	shown := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
		out.Reset()
	}
	fmt.Fprint(k.pages, "\n"+numbered(7)) // five have room: an empty line at the top is omitted, three lines are the prompt's
	shown(numbered(5))
	typed("", "b", "", "?", "")
	if err := k.goOn(context.Background(), "On? "); err != nil {
		t.Fatal(err)
	}
	const more, back = "\nMore: Enter. Back: b. Quit: q. ", "\nPage 1 of 2. On: Enter. Back: b. Quit: q. "
	rest := "line 6\nline 7\n"
	shown(more + rest + "\nOn? " + numbered(5) + back + rest + "\nOn? " + "\nOn? ")

	k.pages.hold() // four lines, where only three have room below what is shown
	fmt.Fprint(k.pages, "a\n", strings.Repeat("w", 25)+"\n", "no line yet")
	shown("")
	if err := k.pages.letGo(); err != nil {
		t.Fatal(err)
	}
	shown("a\n" + strings.Repeat("w", 25) + "\n")
	k.pages.hold()
	fmt.Fprint(k.pages, "\nb\n")
	if err := k.pages.letGo(); err != nil {
		t.Fatal(err)
	}
	shown("")
	typed("", "q")
	if err := k.goOn(context.Background(), "On? "); !errors.Is(err, errLeft) {
		t.Fatal(err)
	}
	shown(more + "no line yet\nb\n" + "\nOn? ")

	fmt.Fprint(k.pages, numbered(9))
	out.Reset()
	if err := k.pages.release(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(k.pages, numbered(30)) // nothing waits any more
	if got := strings.Count(out.String(), "\n"); got < 30 {
		t.Errorf("%d lines after release:\n%s", got, &out)
	}
	if _, err := (&pages{to: &out, width: 80, height: 24}).Write(make([]byte, mostWaits+1)); err == nil {
		t.Error("more than there is room for is taken")
	}
}
