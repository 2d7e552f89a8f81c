package report

import "github.com/kubeloupe/kubeloupe/inspect/model"

func makeConfig(_ *model.Model, args Args) (*Table, error) {
	var check map[string]any
	if err := live(args, &check); err != nil {
		return nil, err
	}
	return &Table{Raw: args.Live}, nil
}
