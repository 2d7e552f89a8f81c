package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/table"
)

func (p *Resources) newClaims() {
	p.claims = list[*model.Claim]{Look: p.Look, pod: firstPod}
	p.claims.tbl = newTable(p.Look, table.Config[*model.Claim]{
		Columns: p.claimColumns(),
		ID:      func(c *model.Claim) string { return c.String() },
		Text: func(c *model.Claim) string {
			return c.String() + " " + string(c.State) + " " + p.claimDrivers(c) + " " + p.claimDevices(c) + " " + p.claimUsers(c) + " " + c.Err
		},
		Failed: func(c *model.Claim) bool { return c.Failed() || unhealthy(c) > 0 },
		Fields: map[string]func(*model.Claim) string{
			"ns":   func(c *model.Claim) string { return c.Namespace },
			"name": func(c *model.Claim) string { return c.Name },
		},
		Empty: "no pod has ResourceClaims",
	})
	p.claims.open = p.claimDetails
}

// firstPod is a pod that uses the claim: of a claim that cannot be used, the one that waits for it; zero if it is not known any more.
func firstPod(c *model.Claim) trace.Pod {
	if len(c.Pods) == 0 || c.Pods[0].Pod.Name == "" {
		return trace.Pod{}
	}
	return c.Pods[0].Pod
}

func (p *Resources) claimColumns() []table.Column[*model.Claim] {
	name := text("claim", 17, 2, 0, func(c *model.Claim) string { return p.Theme.Clean(c.String()) })
	name.Whole = 30
	devices := table.Column[*model.Claim]{Title: claimWhat, Width: 16, Flex: 3, Cell: p.claimCell}
	users := text("used by", 12, 2, 0, p.claimUsers)
	users.Compare = nil
	return []table.Column[*model.Claim]{
		name,
		toned(text("state", 14, 0, 0, claimState), claimTone),
		clock(p.Look, "since", 3, func(c *model.Claim) time.Time { return c.Since }),
		text("driver", 15, 1, 2, p.claimDrivers),
		devices,
		healthKnown(oddity("unhealthy", 9, 1, style.Fail, unhealthy)),
		users,
	}
}

// healthKnown writes that the health is not known where the kubelet only lists claims.
func healthKnown(c table.Column[*model.Claim]) table.Column[*model.Claim] {
	write := c.Cell
	c.Cell = func(r *model.Claim) table.Cell {
		if r.State == trace.ClaimListed {
			return table.Cell{Text: style.Unknown, Tone: style.Dim}
		}
		return write(r)
	}
	return c
}

// claimWhat is the title of the column with a claim's error.
const claimWhat = "devices or error"

// mostNotes limits the lines with errors below the claims.
const mostNotes = 6

// claimNotes are the errors that the table cuts, wrapped, after the names of the claims.
func (p *Resources) claimNotes(w int) (out []string) {
	if p.filter != nil || w <= 0 {
		return nil
	}
	room := p.claims.tbl.Room(claimWhat)
	for _, c := range p.res.Claims {
		if text := p.Theme.Clean(c.Err); text != "" && fit.Width(text) > room {
			out = append(out, fit.Paragraph(" "+p.Theme.Clean(c.String())+": ", text, w)...)
		}
	}
	return out[:min(len(out), mostNotes)]
}

// claimState is the state in short.
func claimState(c *model.Claim) string {
	switch c.State {
	case trace.ClaimFailed:
		return "not prepared"
	case trace.ClaimStuck:
		return "not unprepared"
	case trace.ClaimRestored, trace.ClaimPreparing, trace.ClaimReady, trace.ClaimUnpreparing, trace.ClaimGone, trace.ClaimListed:
	}
	return string(c.State)
}

func claimTone(c *model.Claim) style.Tone {
	switch c.State {
	case trace.ClaimFailed, trace.ClaimStuck:
		return style.Fail
	case trace.ClaimPreparing, trace.ClaimUnpreparing:
		return style.Slow
	case trace.ClaimRestored, trace.ClaimReady, trace.ClaimGone, trace.ClaimListed:
	}
	return style.Plain
}

func unhealthy(c *model.Claim) int64 {
	n, _ := c.Unhealthy()
	return int64(n)
}

func (p *Resources) claimDrivers(c *model.Claim) string {
	if len(c.Drivers) == 0 {
		return p.Theme.Clean(c.FaultDriver)
	}
	return p.Theme.Clean(strings.Join(c.Drivers, ", "))
}

// claimCell is what went wrong, or else the devices, of which the health is here, too: a narrow screen has no column for it.
func (p *Resources) claimCell(c *model.Claim) table.Cell {
	if c.Err != "" {
		return table.Cell{Text: p.Theme.Clean(c.Err), Tone: style.Fail}
	}
	devices := cmp.Or(p.claimDevices(c), style.Unknown)
	n := unhealthy(c)
	if n == 0 {
		return table.Cell{Text: devices}
	}
	bad := style.Count(n) + " unhealthy"
	return table.Cell{Text: bad + "  " + devices, Parts: []table.Cell{{Text: bad, Tone: style.Fail}, {Text: "  " + devices}}}
}

// claimDevices names the devices of a claim, as many as a line has.
func (p *Resources) claimDevices(c *model.Claim) string {
	return p.some(len(c.Devices), c.Count, func(i int) string { return c.Devices[i].Pool + "/" + c.Devices[i].Device })
}

// claimUsers names the pods and containers that use a claim, as many as a line has.
func (p *Resources) claimUsers(c *model.Claim) string {
	return p.some(len(c.Pods), c.Users, func(i int) string { return userName(&c.Pods[i]) })
}

// userName is a pod with its containers.
func userName(u *trace.ClaimPod) string {
	pod := u.Pod.UID
	if u.Pod.Name != "" {
		pod = u.Pod.String()
	}
	switch len(u.Containers) {
	case 0:
		return pod
	case 1:
		return pod + "/" + u.Containers[0]
	}
	return pod + "/{" + strings.Join(u.Containers, ",") + "}"
}

// some joins the first n names of all.
func (p *Resources) some(n, all int, name func(int) string) string {
	var b strings.Builder
	i := 0
	for ; i < n && b.Len() <= mostWho; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(i))
	}
	if more := all - i; more > 0 && i > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return p.Theme.Clean(b.String())
}

// claimDetails opens all that is known of a claim.
func (p *Resources) claimDetails(c *model.Claim) tea.Cmd {
	f := facts{th: p.Theme}
	f.add("state", p.since(say.ClaimState(c.State), c.Since), claimTone(c))
	if now := p.now; !c.Since.IsZero() && (c.State == trace.ClaimPreparing || c.State == trace.ClaimUnpreparing) {
		f.add("for", style.Age(now.Sub(c.Since)), style.Slow)
	}
	f.add("error", c.Err, style.Fail)
	f.add("failed", c.FaultDriver, style.Fail)
	f.add("UID", c.UID, style.Plain)
	for _, d := range c.Drivers {
		f.add("driver", d, style.Plain)
	}
	for i := range c.Devices {
		p.claimDevice(&f, &c.Devices[i])
	}
	p.more(&f, c.Count-len(c.Devices), "devices")
	if c.Users > 0 {
		f.head("pods that use it: " + style.Count(c.Users))
	}
	for i := range c.Pods {
		f.lines = append(f.lines, Text{Line: p.Theme.Clean(userName(&c.Pods[i])), Indent: 2})
	}
	p.more(&f, c.Users-len(c.Pods), "pods")
	name := p.Theme.Clean(c.String())
	return send(Open{NewPager(p.Look, "claim", name, f.lines).Of(p.Theme.Clean(c.Name))})
}

func (p *Resources) claimDevice(f *facts, d *trace.ClaimDevice) {
	f.head(p.Theme.Clean(d.Pool + "/" + d.Device))
	f.add("driver", d.Driver, style.Plain)
	f.add("share", d.Share, style.Plain)
	f.add("requests", strings.Join(d.Requests, ", "), style.Plain)
	for _, id := range d.CDI {
		f.add("CDI", id, style.Plain)
	}
	health := string(d.Health)
	if d.Message != "" {
		health += ": " + d.Message
	}
	f.add("health", health, healthTone(d.Health))
}

func healthTone(h trace.DeviceHealth) style.Tone {
	switch h {
	case trace.DeviceUnhealthy:
		return style.Fail
	case trace.DeviceHealthUnknown:
		return style.Dim
	case trace.DeviceHealthy:
	}
	return style.Plain
}

// more says how many are not listed.
func (p *Resources) more(f *facts, n int, what string) {
	if n > 0 {
		f.lines = append(f.lines, Text{Line: fmt.Sprintf("and %s more %s", style.Count(n), what), Tone: style.Dim})
	}
}
