package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A node is one parsed command.
type node interface{ isNode() }

type (
	// list runs items one after the other.
	list []item
	item struct {
		cmd        node
		background bool
	}
	// andOr runs right depending on the status of left.
	andOr struct {
		left, right node
		and         bool
	}
	not    struct{ cmd node }
	simple struct {
		words     []string // raw, not yet expanded
		redirects []redirect
	}
	// loop is while, or until when until is set.
	loop struct {
		cond, body list
		until      bool
	}
	forLoop struct {
		name  string
		words []string
		body  list
	}
	ifElse struct{ cond, then, otherwise list }
)

type redirect struct {
	fd     int
	append bool
	input  bool
	target string
}

func (list) isNode()    {}
func (andOr) isNode()   {}
func (not) isNode()     {}
func (simple) isNode()  {}
func (loop) isNode()    {}
func (forLoop) isNode() {}
func (ifElse) isNode()  {}

// errUnsupported marks syntax that a shell would take and this package does not.
var errUnsupported = errors.New("not simulated")

type parser struct {
	tokens []token
	pos    int
}

// parse turns a script into commands.
func parse(src string) (list, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, fmt.Errorf("unexpected %q", t.text)
	}
	return l, nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

func (p *parser) isWord(words ...string) bool {
	t := p.peek()
	return t.kind == tokWord && slices.Contains(words, t.text)
}

func (p *parser) isOp(ops ...string) bool {
	t := p.peek()
	return t.kind == tokOp && slices.Contains(ops, t.text)
}

func (p *parser) expect(word string) error {
	if !p.isWord(word) {
		return fmt.Errorf("expected %q, found %q", word, p.peek().text)
	}
	p.next()
	return nil
}

// list parses commands up to a word that closes the enclosing construct.
func (p *parser) list() (list, error) {
	var l list
	for {
		for p.isOp(";", "\n") {
			p.next()
		}
		if p.peek().kind == tokEOF || p.isWord("do", "done", "then", "elif", "else", "fi", "}") {
			return l, nil
		}
		cmd, err := p.andOr()
		if err != nil {
			return nil, err
		}
		background := p.isOp("&")
		if !background && p.peek().kind == tokOp && !p.isOp(";", "\n") {
			return nil, fmt.Errorf("%q: %w", p.peek().text, errUnsupported)
		}
		if p.peek().kind == tokOp {
			p.next()
		}
		l = append(l, item{cmd, background})
	}
}

func (p *parser) andOr() (node, error) {
	left, err := p.command()
	if err != nil {
		return nil, err
	}
	for p.isOp("&&", "||") {
		op := p.next().text
		for p.isOp("\n") {
			p.next()
		}
		right, err := p.command()
		if err != nil {
			return nil, err
		}
		left = andOr{left: left, right: right, and: op == "&&"}
	}
	return left, nil
}

func (p *parser) command() (node, error) {
	switch {
	case p.isWord("!"):
		p.next()
		cmd, err := p.command()
		return not{cmd}, err
	case p.isWord("while", "until"):
		until := p.next().text == "until"
		cond, err := p.list()
		if err != nil {
			return nil, err
		}
		body, err := p.doGroup()
		return loop{cond: cond, body: body, until: until}, err
	case p.isWord("for"):
		return p.forLoop()
	case p.isWord("if"):
		p.next()
		return p.ifElse()
	case p.isWord("{"):
		p.next()
		l, err := p.list()
		if err != nil {
			return nil, err
		}
		return l, p.expect("}")
	case p.isWord("case", "function"):
		return nil, fmt.Errorf("%q: %w", p.peek().text, errUnsupported)
	}
	return p.simple()
}

func (p *parser) doGroup() (list, error) {
	if err := p.expect("do"); err != nil {
		return nil, err
	}
	body, err := p.list()
	if err != nil {
		return nil, err
	}
	return body, p.expect("done")
}

func (p *parser) forLoop() (node, error) {
	p.next()
	f := forLoop{name: p.next().text}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	for p.peek().kind == tokWord {
		f.words = append(f.words, p.next().text)
	}
	for p.isOp(";", "\n") {
		p.next()
	}
	var err error
	f.body, err = p.doGroup()
	return f, err
}

func (p *parser) ifElse() (node, error) {
	var n ifElse
	var err error
	if n.cond, err = p.list(); err != nil {
		return nil, err
	}
	if err = p.expect("then"); err != nil {
		return nil, err
	}
	if n.then, err = p.list(); err != nil {
		return nil, err
	}
	switch {
	case p.isWord("elif"):
		p.next()
		rest, err := p.ifElse() // takes the closing fi
		n.otherwise = list{{cmd: rest}}
		return n, err
	case p.isWord("else"):
		p.next()
		if n.otherwise, err = p.list(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("fi")
}

func (p *parser) simple() (node, error) {
	var s simple
	for {
		switch t := p.peek(); t.kind {
		case tokWord:
			s.words = append(s.words, p.next().text)
		case tokRedirect:
			p.next()
			r := redirect{fd: t.fd, append: t.text == ">>", input: strings.HasPrefix(t.text, "<")}
			if r.input && t.text != "<" {
				return nil, fmt.Errorf("%q: %w", t.text, errUnsupported)
			}
			if p.peek().kind != tokWord {
				return nil, fmt.Errorf("expected a file after %q", t.text)
			}
			r.target = p.next().text
			s.redirects = append(s.redirects, r)
		case tokEOF, tokOp:
			if len(s.words) == 0 && len(s.redirects) == 0 {
				if t.text == "(" {
					return nil, fmt.Errorf("%q: %w", t.text, errUnsupported)
				}
				return nil, fmt.Errorf("unexpected %q", t.text)
			}
			return s, nil
		}
	}
}
