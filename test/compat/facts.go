package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// facts are what a response says, by path. What is another with each run, such as a time, has its kind as the value.
type facts map[string]string

// contents are the facts of all documents, by the document's name.
type contents map[string]facts

// spoken replaces what is another with each run.
type spoken struct {
	words *strings.Replacer
}

// volatile are the texts that are others with each run, and how a fact has them.
var volatile = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [A-Z]+ \d{4}\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "HASH"},
	{regexp.MustCompile(`\b(kube-api-access|holder-claim\d|sharer-claim\d)-[a-z0-9]{5}\b`), "$1-ID"},
	{regexp.MustCompile(`\b10\.88\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(`\bback-off [0-9ms]+ restarting`), "back-off TIME restarting"},
	{regexp.MustCompile(`\bklbr[0-9a-f]+\b`), "BRIDGE"},
	{regexp.MustCompile(`\b(alpha|beta)-\d\b`), "$1-N"}, // upstream gives any of them
	{regexp.MustCompile(`\bclaimed-\d\b`), "claimed-N"}, // the scheduler gives any of them
}

// text is a text without what is another with each run.
func (s spoken) text(t string) string {
	t = s.words.Replace(t)
	for _, v := range volatile {
		t = v.pattern.ReplaceAllString(t, v.as)
	}
	return t
}

// lines are the facts of a text: each line is one, by its number or, if it begins with NAME= or NAME:, its name.
func (s spoken) lines(body []byte) facts {
	out := facts{}
	for i, line := range strings.Split(strings.TrimRight(string(body), "\n"), "\n") {
		line = s.text(line)
		name, value := fmt.Sprintf("line %d", i+1), line
		if at := strings.IndexAny(line, "=:"); at > 0 && !strings.ContainsAny(line[:at], " <") {
			name, value = line[:at], line[at+1:]
		}
		out.add(name, strings.TrimSpace(value))
	}
	return out
}

// add adds a fact; a path that is taken gets a number.
func (f facts) add(path, value string) {
	for n, p := 2, path; ; n++ {
		if _, taken := f[p]; !taken {
			f[p] = value
			return
		}
		p = fmt.Sprintf("%s #%d", path, n)
	}
}

// kept is the file with the contents of both agents.
type kept struct {
	Upstream  contents `json:"upstream"`
	Kubeloupe contents `json:"kubeloupe"`
}

func readKept(file string) (kept, error) {
	var out kept
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

func (k kept) write(file string) error {
	data, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// change is a fact that both agents do not say alike.
type change struct {
	document, path string
	// upstream and ours are what the agents say, absent if nothing.
	upstream, ours string
	reason         string // "" is that there is none
}

const absent = "-"

func (c change) String() string {
	why := c.reason
	if why == "" {
		why = "NO REASON"
	}
	return fmt.Sprintf("%s: %s\n    upstream %s\n    kubeloupe %s\n    %s", c.document, c.path, c.upstream, c.ours, why)
}

// row is how many facts of a document are alike.
type row struct {
	document             string
	all, same, explained int
}

// contrast is what came of the contents.
type contrast struct {
	rows    []row
	changes []change
	// idle are the reasons that no difference has.
	idle []string
}

// contrasted compares the contents of both agents, document by document.
func contrasted(k kept) contrast {
	var out contrast
	used := make([]bool, len(contentReasons))
	for _, d := range sortedKeys(k.Upstream, k.Kubeloupe) {
		theirs, ours := k.Upstream[d], k.Kubeloupe[d]
		r := row{document: d}
		for _, path := range sortedKeys(theirs, ours) {
			r.all++
			c := change{document: d, path: path, upstream: absent, ours: absent}
			if v, ok := theirs[path]; ok {
				c.upstream = v
			}
			if v, ok := ours[path]; ok {
				c.ours = v
			}
			if c.upstream == c.ours {
				r.same++
				continue
			}
			if i := slices.IndexFunc(contentReasons, func(w contentReason) bool { return w.fits(c) }); i >= 0 {
				used[i] = true
				c.reason = contentReasons[i].why
				r.explained++
			}
			out.changes = append(out.changes, c)
		}
		out.rows = append(out.rows, r)
	}
	for i, w := range contentReasons {
		if !used[i] && !w.rare {
			out.idle = append(out.idle, w.why)
		}
	}
	return out
}

func (c contrast) unexplained() (n int) {
	for _, one := range c.changes {
		if one.reason == "" {
			n++
		}
	}
	return n
}

// sortedKeys are the keys of both maps.
func sortedKeys[V any](a, b map[string]V) []string {
	var out []string
	for _, m := range []map[string]V{a, b} {
		for k := range m {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
