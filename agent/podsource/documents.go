package podsource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/agent/yamlfield"
)

// document is one YAML or JSON document of a file.
type document struct {
	data []byte
	// line is the line of the file at which data begins, from 1.
	line int
	// tree is parsed when a field's line is needed.
	tree *yaml3.Node
	// twice is a warning: a key is given twice. It has line and message only.
	twice *Problem
}

// documents splits a file at its --- and ... lines and yields the documents that are not empty.
func documents(data []byte) iter.Seq[*document] {
	return func(yield func(*document) bool) {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		doc, line := &document{line: 1}, 0
		for text := range bytes.Lines(data) {
			line++
			if marker(text, "---") || marker(text, "...") {
				if !doc.blank() && !yield(doc) {
					return
				}
				doc = &document{line: line}
				if text[0] == '.' {
					doc.line++
					continue
				}
				// Text after the marker on the same line belongs to the document.
				text = append([]byte("   "), text[3:]...)
			}
			doc.data = append(doc.data, text...)
		}
		if !doc.blank() {
			yield(doc)
		}
	}
}

func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// blank reports whether there are only comments and directives.
func (d *document) blank() bool {
	for line := range bytes.Lines(d.data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// json returns the document as JSON; the problem has line and message only.
func (d *document) json() ([]byte, *Problem) {
	data := d.data
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		if json.Valid(text) {
			return text, nil
		}
		data = untab(data)
	}
	if size, ok := d.unfolded(); !ok {
		return nil, &Problem{Line: d.line, Message: fmt.Sprintf(
			"not valid: its aliases (*name) repeat what they stand for until it is longer than %d bytes, of which it has %d; write out fewer", size, len(d.data))}
	}
	out, err := yaml.YAMLToJSONStrict(data)
	if err == nil {
		return out, nil
	}
	p := d.syntax(err)
	if out, err = yaml.YAMLToJSON(data); err != nil {
		return nil, p
	}
	p.Message = strings.TrimPrefix(p.Message, notYAML) + lastCounts
	d.twice = p
	return out, nil
}

// Parts of messages.
const (
	notYAML    = "not valid YAML: " // begins that of a syntax error
	givenTwice = "is given twice"
	lastCounts = ": the last value counts" // ends that of a field that is given twice
)

// maxUnfolded limits a document with its aliases expanded: each may stand for megabytes, and for other aliases.
const maxUnfolded = 4 * maxManifest

// unfolded reports whether the document with its aliases expanded is within the limit, which it returns.
func (d *document) unfolded() (limit int, ok bool) {
	if bytes.IndexByte(d.data, '*') < 0 || bytes.IndexByte(d.data, '&') < 0 {
		return maxUnfolded, true
	}
	d.parse()
	sizes := map[*yaml3.Node]int{}
	return maxUnfolded, len(d.tree.Content) == 0 || unfoldedSize(d.tree.Content[0], sizes) <= maxUnfolded
}

// unfoldedSize returns the approximate size of a node as JSON, or maxUnfolded+1 if it is larger. The decoder rejects a
// node that contains itself.
func unfoldedSize(n *yaml3.Node, anchored map[*yaml3.Node]int) int {
	if n.Kind == yaml3.AliasNode {
		return anchored[n.Alias] + 1 // anchors come before their aliases
	}
	size := len(n.Value) + 2
	for _, c := range n.Content {
		if size += unfoldedSize(c, anchored); size > maxUnfolded {
			size = maxUnfolded + 1
			break
		}
	}
	if n.Anchor != "" {
		anchored[n] = size
	}
	return size
}

// parse parses the tree, if it is not parsed yet.
func (d *document) parse() {
	if d.tree != nil {
		return
	}
	d.tree = new(yaml3.Node)
	if err := yaml3.Unmarshal(untabJSON(d.data), d.tree); err != nil {
		d.tree = new(yaml3.Node) // without a tree, problems have the document's line
	}
}

// syntax converts a YAML error, whose line counts within the document, to a problem.
func (d *document) syntax(err error) *Problem {
	line, text := yamlfield.ParseError(err)
	p := &Problem{Line: d.line + max(line, 1) - 1, Message: text}
	if strings.Contains(text, "cannot start any token") && bytes.ContainsRune(d.data, '\t') {
		p.Message += " (indent with spaces, not tabs)"
	}
	p.Message = notYAML + p.Message
	return p
}

// locate returns the line of the field, or of its nearest existing parent.
func (d *document) locate(field string) int {
	d.parse()
	return d.line + yamlfield.Line(d.tree, field) - 1
}

// untab replaces tabs, which JSON permits as indentation and YAML does not. JSON strings contain no tabs.
func untab(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\t"), []byte(" ")) }

func untabJSON(data []byte) []byte {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		return untab(data)
	}
	return data
}
