package cluster

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/rand"
)

// mark begins every secret of this test, and nothing else.
const mark = "klcanary"

// pin is a secret that is too short to be looked for in texts of others: where it goes, it must be known.
const pin = "#7x"

// canaries makes secrets, and looks for them.
type canaries struct {
	t     *testing.T
	bench *bench
	agent *agent
	marks []string            // as any of the secrets begins, in each spelling
	found map[string][]string // where each was found

	mu      sync.Mutex // for those that the driver learns
	secrets []*secretValue
}

// secretValue is a secret and how it is called in a failure: the way by which it came.
type secretValue struct {
	way     string
	needles []string
	// made says that it begins with mark.
	made bool
	// may is where it may be.
	may *regexp.Regexp
}

func newCanaries(t *testing.T, b *bench) *canaries {
	c := &canaries{t: t, bench: b, marks: spelled(mark), found: map[string][]string{}}
	c.secrets = append(c.secrets, &secretValue{way: "pin", needles: []string{pin}})
	t.Cleanup(func() {
		for way, places := range c.found {
			t.Errorf("%s is in %d places: %s", way, len(places), strings.Join(slices.Compact(places), "; "))
		}
	})
	return c
}

// secret makes one that says by which way it got out.
func (c *canaries) secret(way string) string { return c.secretBut(way, "") }

// odd makes one that each way to quote text writes differently, with a secret on both sides of what is odd.
func (c *canaries) odd(way string) string {
	return c.secret(way) + "\"q'\\&<>/+= %é$" + c.secret(way+"tail")
}

// secretBut makes one that may be where the expression says.
func (c *canaries) secretBut(way, may string) string {
	value := mark + way + rand.String(10)
	c.watch(way, may, spelled(value)...)
	return value
}

// watch has something be looked for that this test did not make.
func (c *canaries) watch(way, may string, needles ...string) {
	s := &secretValue{way: way, needles: needles, made: strings.HasPrefix(needles[0], mark)}
	if may != "" {
		s.may = regexp.MustCompile(may)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.secrets, func(k *secretValue) bool { return k.needles[0] == needles[0] }) {
		return // a driver is told its token again and again
	}
	c.secrets = append(c.secrets, s)
}

// token has a service-account token be looked for by its signature.
func (c *canaries) token(way, jwt string) {
	if parts := strings.Split(jwt, "."); len(parts) == 3 && len(parts[2]) >= 40 {
		c.watch(way, "", spelled(parts[2][:40])...)
		return
	}
	c.t.Errorf("%s is no token: %q", way, jwt)
}

// spelled are the ways to write a text of letters and digits that tools have, wherever it is in another.
func spelled(text string) []string {
	out := []string{text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))), fmt.Sprintf("% x", text)}
	out = append(out, strings.Trim(fmt.Sprint([]byte(text)), "[]"))
	for shift := range 3 { // where it may begin in base64
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", shift) + text))
		from := (shift*8 + 5) / 6
		out = append(out, encoded[from:from+(len(text)*8-6)/6-1])
	}
	return out
}

// words are the letters and digits of a text.
func words(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, b := range text {
		if b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			out = append(out, b)
		}
	}
	return out
}

// look fails the test when a secret is in what somebody may read: as it is, or broken into lines or columns.
func (c *canaries) look(where string, text []byte) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, form := range [][]byte{text, words(text)} {
		c.lookAt(where, form)
	}
}

func (c *canaries) lookAt(where string, text []byte) {
	c.t.Helper()
	for spelling, m := range c.marks { // few texts have any, and there are many secrets
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte(m))
			if i < 0 {
				break
			}
			at += i
			s := c.madeAt(spelling, text[at:])
			switch {
			case s == nil:
				c.tell(where, "the beginning of one", m, text, at)
				at += len(m)
				continue
			case s.may == nil || !s.may.MatchString(where):
				c.tell(where, s.way, s.needles[spelling], text, at)
			}
			at += len(s.needles[spelling])
		}
	}
	readable := utf8.Valid(text)
	for _, s := range c.secrets {
		if s.made || s.needles[0] == pin && !readable { // which any noise has
			continue
		}
		for _, n := range s.needles {
			if i := bytes.Index(text, []byte(n)); i >= 0 && (s.may == nil || !s.may.MatchString(where)) {
				c.tell(where, s.way, n, text, i)
			}
		}
	}
}

// madeAt is the secret that a text begins with, in one of the spellings; nil if it is none.
func (c *canaries) madeAt(spelling int, text []byte) *secretValue {
	for _, s := range c.secrets {
		if s.made && bytes.HasPrefix(text, []byte(s.needles[spelling])) {
			return s
		}
	}
	return nil
}

// tell tells of each secret once, and at the end where it was.
func (c *canaries) tell(where, way, needle string, text []byte, i int) {
	c.t.Helper()
	if c.found[way] == nil {
		c.t.Errorf("%s has a secret (%s, as %s): ...%q...", where, way, needle, text[max(0, i-150):min(len(text), i+60)])
	}
	c.found[way] = append(c.found[way], where)
}

func (c *canaries) file(where, path string) {
	c.t.Helper()
	if err := c.lookIn(where, path); err != nil {
		c.t.Errorf("%s: %v", where, err)
	}
}

// lookIn looks at a file.
func (c *canaries) lookIn(where, path string) error {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		c.look(where, text)
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
