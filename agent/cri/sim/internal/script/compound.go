package script

import (
	"errors"
	"fmt"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// compound executes a compound command.
func (sh *shell) compound(st *syntax.Stmt) error {
	out, errOut := sh.out, sh.err
	defer func() { sh.out, sh.err = out, errOut }()
	if ok, err := sh.redirect(st.Redirs); !ok || err != nil {
		sh.status = 1
		return err
	}
	switch n := st.Cmd.(type) {
	case *syntax.Block:
		return sh.list(n.Stmts)
	case *syntax.BinaryCmd:
		if err := sh.run(n.X); err != nil || (sh.status == 0) != (n.Op == syntax.AndStmt) {
			return err
		}
		return sh.run(n.Y)
	case *syntax.IfClause:
		return sh.ifElse(n)
	case *syntax.WhileClause:
		return sh.loop(n)
	case *syntax.ForClause:
		return sh.forLoop(n)
	}
	return unsupported(fmt.Sprintf("%T", st.Cmd)) // cannot happen: check rejects it
}

func (sh *shell) ifElse(n *syntax.IfClause) error {
	for ; n != nil; n = n.Else {
		if n.ThenPos.IsValid() { // an if or elif clause
			if err := sh.list(n.Cond); err != nil {
				return err
			}
			if sh.status != 0 {
				continue
			}
		}
		sh.status = 0
		return sh.list(n.Then)
	}
	sh.status = 0
	return nil
}

func (sh *shell) loop(n *syntax.WhileClause) error {
	status := 0
	for {
		began := time.Now()
		if err := sh.list(n.Cond); err != nil {
			return err
		}
		if (sh.status == 0) == n.Until {
			sh.status = status
			return nil
		}
		if stop, err := sh.body(n.Do); stop || err != nil {
			return err
		}
		status = sh.status
		if time.Since(began) < idle {
			if err := sh.sleep(idle); err != nil {
				return err
			}
		}
	}
}

func (sh *shell) forLoop(n *syntax.ForClause) error {
	words, ok := n.Loop.(*syntax.WordIter)
	if !ok {
		return unsupported("for ((...))") // not in POSIX: parse rejects it
	}
	values := sh.params[min(1, len(sh.params)):]
	if words.InPos.IsValid() {
		var err error
		if values, err = sh.fields(words.Items); err != nil {
			return sh.failed(err)
		}
	}
	sh.status = 0
	for _, value := range values {
		if err := sh.vars.set(words.Name.Value, value); err != nil {
			return sh.failed(err)
		}
		if stop, err := sh.body(n.Do); stop || err != nil {
			return err
		}
	}
	return nil
}

// body runs one iteration of a loop; stop is true after break.
func (sh *shell) body(l []*syntax.Stmt) (stop bool, err error) {
	err = sh.list(l)
	if le, ok := errors.AsType[loopError](err); ok {
		sh.status = 0
		return !le.again, nil
	}
	return false, err
}
