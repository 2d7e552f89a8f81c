package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

func readAnswers(file string) (map[string]answer, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out map[string]answer
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

// writeAnswers writes a line for each answer, in order.
func writeAnswers(file string, all map[string]answer) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(data), "},", "},\n")
	return os.WriteFile(file, []byte(text+"\n"), 0o644)
}

// difference is a request that is answered otherwise than upstream does.
type difference struct {
	request
	upstream, ours answer
	reason         string // "" is that there is none
}

func (d difference) String() string {
	reason := d.reason
	if reason == "" {
		reason = "NO REASON"
	}
	return fmt.Sprintf("%s\n    upstream %s, kubeloupe %s: %s", d.id, d.upstream, d.ours, reason)
}

func (a answer) String() string {
	switch a.Code {
	case -1:
		return "nothing"
	case 0:
		return "the end"
	}
	out := fmt.Sprint(a.Code)
	if a.Type != "" {
		out += " " + a.Type
	}
	if a.Allow != "" {
		out += " (allow " + a.Allow + ")"
	}
	return out
}

// comparison is what came of all requests.
type comparison struct {
	groups      []string // in order
	asked       map[string]int
	differences []difference
}

func compare(all []request, upstream, ours map[string]answer) comparison {
	c := comparison{asked: map[string]int{}}
	for _, r := range all {
		if !slices.Contains(c.groups, r.group) {
			c.groups = append(c.groups, r.group)
		}
		c.asked[r.group]++
		theirs, known := upstream[r.id]
		got := ours[r.id]
		if known && theirs == got {
			continue
		}
		d := difference{request: r, upstream: theirs, ours: got}
		if known {
			d.reason = reasonFor(d)
		}
		c.differences = append(c.differences, d)
	}
	return c
}

func (c comparison) unexplained() (n int) {
	for _, d := range c.differences {
		if d.reason == "" {
			n++
		}
	}
	return n
}
