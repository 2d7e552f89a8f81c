package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// nodeArg is the argument of why that is the node. A pod of that name is NAMESPACE/node.
const nodeArg = "node"

// ofNode explains the node.
func (a *asking) ofNode(ctx context.Context, conditions []why.Condition) error {
	s, m := session.New(session.Options{}), model.New(model.Options{})
	now, err := a.fold(ctx, a.s.in, s, m)
	if err != nil {
		return err
	}
	r := why.Node(&nodecause.Input{Model: m, Case: s.NodeCase(now.Add(-why.NodeWindow), now), Now: now})
	if a.log != nil {
		r.SeenBy = bundle.SeenBy(a.log.Told())
	}
	if err := a.writeNode(r); err != nil {
		return err
	}
	return heldBy(heldIn(r.Report(), nodeArg, conditions))
}

func (a *asking) writeNode(r *why.NodeReport) error {
	if a.output == "json" {
		return asObject(a.s.out, a.form, func(w io.Writer) error {
			enc := json.NewEncoder(human.Writer(w))
			enc.SetIndent("", "  ")
			return enc.Encode(r)
		})
	}
	return a.pager.show(a.s, func(to io.Writer) error {
		if a.short {
			return why.NodeShort(to, r)
		}
		if err := why.NodeText(to, r, a.textOptions()); err != nil {
			return err
		}
		_, err := io.WriteString(to, a.seenBy())
		return err
	})
}
