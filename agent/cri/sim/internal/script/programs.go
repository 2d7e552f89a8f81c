package script

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hungry is how long a program that consumes memory takes to reach its limit.
const hungry = time.Second

// program runs a program: a shell, one of the table, one that exits at once, or one that runs until stopped.
func (sh *shell) program(args []string) (int, error) {
	name, args := path.Base(args[0]), args[1:]
	if isShell(name) {
		return sh.shell(name, args)
	}
	switch name {
	case "busybox", "env", "nohup", "setsid", "tini", "dumb-init":
		for len(args) > 0 && (strings.Contains(args[0], "=") || strings.HasPrefix(args[0], "-")) {
			args = args[1:]
		}
		if len(args) > 0 {
			return sh.program(args)
		}
		if name == "env" {
			return sh.printEnv(), nil
		}
		return sh.forever()
	case "true":
		return 0, nil
	case "false":
		return 1, nil
	case "sleep":
		return sh.sleepProgram(args)
	case "echo":
		return sh.echo(args), nil
	case "printf":
		return sh.printf(args), nil
	case "cat":
		return sh.cat(args)
	case "tail":
		return sh.tail(args)
	case "test", "[":
		return sh.test(name, args), nil
	case "touch":
		for _, f := range operands(args) {
			if file, _ := sh.p.cfg.Files.exists(f); !file {
				_ = sh.p.cfg.Files.write(f, nil, true)
			}
		}
		return 0, nil
	case "rm", "rmdir":
		for _, f := range operands(args) {
			if !sh.p.cfg.Files.remove(f) && !slices.ContainsFunc(args, isForce) {
				fmt.Fprintf(sh.err, "%s: can't remove '%s': No such file or directory\n", name, f)
				return 1, nil
			}
		}
		return 0, nil
	case "ls":
		for _, f := range operands(args) {
			file, dir := sh.p.cfg.Files.exists(f)
			if !file && !dir {
				fmt.Fprintf(sh.err, "ls: %s: No such file or directory\n", f)
				return 1, nil
			}
			if file {
				fmt.Fprintln(sh.out, f)
			}
		}
		return 0, nil
	case "date":
		fmt.Fprintln(sh.out, time.Now().UTC().Format("Mon Jan _2 15:04:05 UTC 2006"))
		return 0, nil
	case "hostname":
		fmt.Fprintln(sh.out, sh.p.cfg.Hostname)
		return 0, nil
	case "printenv":
		for _, k := range args {
			fmt.Fprintln(sh.out, sh.variable(k).String())
		}
		if len(args) == 0 {
			return sh.printEnv(), nil
		}
		return 0, nil
	case "seq":
		return sh.seq(args), nil
	case "stress", "stress-ng":
		return sh.eat()
	case "awk", "basename", "chgrp", "chmod", "chown", "cp", "curl", "cut", "df", "dig", "dirname", "du", "find", "free",
		"getent", "grep", "head", "id", "install", "ip", "kill", "ln", "mkdir", "mkfifo", "mktemp", "mount", "mv", "nc",
		"nslookup", "ping", "pgrep", "ps", "pwd", "readlink", "realpath", "sed", "sort", "stat", "sync", "sysctl", "tar",
		"tr", "tee", "umount", "uname", "uniq", "uptime", "wc", "wget", "which", "whoami", "xargs":
		return 0, nil
	}
	return sh.forever()
}

// shell runs sh -c SCRIPT, with the options that have no effect here. A shell without a script has no input and exits.
func (sh *shell) shell(name string, args []string) (int, error) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			break
		}
		if strings.HasSuffix(a, "c") && i+1 < len(args) {
			if !sh.execed { // a shell in a shell is a child
				child := *sh
				child.params = append([]string{name}, args[min(i+3, len(args)):]...)
				child.traps, child.pending, child.jobs = map[string]string{}, nil, nil
				status, err := child.script(args[i+1])
				return childStatus(status, err, sh)
			}
			sh.params = args[i+2:]
			if len(sh.params) == 0 {
				sh.params = []string{name}
			}
			return sh.script(args[i+1])
		}
	}
	if len(operands(args)) > 0 { // a script in the image, which is not available here
		return sh.forever()
	}
	return 0, nil
}

// childStatus converts the exit of a child shell to a status, unless the whole process exits.
func childStatus(status int, err error, sh *shell) (int, error) {
	e, ok := err.(*exitError) //nolint:errorlint // exits are never wrapped
	if !ok {
		return status, err
	}
	select {
	case <-sh.p.killed:
		return 0, e
	default:
		return e.Code, nil
	}
}

func (sh *shell) sleepProgram(args []string) (int, error) {
	var total time.Duration
	for _, a := range args {
		if a == "infinity" || a == "inf" {
			return 0, sh.block(nil, nil, false)
		}
		number, unit := a, time.Second
		for suffix, u := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
			if n, ok := strings.CutSuffix(a, suffix); ok {
				number, unit = n, u
			}
		}
		seconds, err := strconv.ParseFloat(number, 64)
		if err != nil || !(seconds >= 0) {
			fmt.Fprintf(sh.err, "sleep: invalid number '%s'\n", a)
			return 1, nil
		}
		total += time.Duration(min(seconds*float64(unit), math.MaxInt64/4))
	}
	if len(args) == 0 {
		fmt.Fprintln(sh.err, "sleep: missing operand")
		return 1, nil
	}
	return 0, sh.sleep(total)
}

func (sh *shell) echo(args []string) int {
	end := "\n"
	for len(args) > 0 && (args[0] == "-n" || args[0] == "-e") {
		if args[0] == "-n" {
			end = ""
		}
		args = args[1:]
	}
	fmt.Fprint(sh.out, strings.Join(args, " ")+end)
	return 0
}

// printf knows %s, %d and %%, and the escapes \n and \t.
func (sh *shell) printf(args []string) int {
	if len(args) == 0 {
		return 1
	}
	format := strings.NewReplacer(`\n`, "\n", `\t`, "\t", "%%", "%").Replace(args[0])
	for _, a := range args[1:] {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 >= len(format) {
			break
		}
		format = format[:i] + a + format[i+2:]
	}
	fmt.Fprint(sh.out, format)
	return 0
}

func (sh *shell) cat(args []string) (int, error) {
	files := operands(args)
	if len(files) == 0 {
		return 0, nil // standard input is empty
	}
	status := 0
	for _, f := range files {
		b, ok := sh.p.cfg.Files.read(f)
		if !ok {
			fmt.Fprintf(sh.err, "cat: can't open '%s': No such file or directory\n", f)
			status = 1
		}
		_, _ = sh.out.Write(b)
	}
	return status, nil
}

// tail -f runs until stopped; tail of /dev/zero consumes memory.
func (sh *shell) tail(args []string) (int, error) {
	if slices.Contains(args, "/dev/zero") {
		return sh.eat()
	}
	if slices.ContainsFunc(args, func(a string) bool { return a == "-f" || a == "-F" }) {
		return 0, sh.block(nil, nil, false)
	}
	return sh.cat(args)
}

// eat consumes memory until the limit kills the process, or runs forever without a limit.
func (sh *shell) eat() (int, error) {
	if sh.p.cfg.MemoryLimit <= 0 {
		return 0, sh.block(nil, nil, false)
	}
	if err := sh.sleep(hungry); err != nil {
		return 0, err
	}
	e := Exit{Code: 128 + signalNumber("KILL"), OOM: true}
	sh.p.Kill(e)
	return e.Code, &exitError{e}
}

func (sh *shell) test(name string, args []string) int {
	if name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	if len(args) > 0 && args[0] == "!" {
		return truth(sh.test("test", args[1:]) != 0)
	}
	switch len(args) {
	case 1:
		return truth(args[0] != "")
	case 2:
		file, dir := sh.p.cfg.Files.exists(args[1])
		switch args[0] {
		case "-z":
			return truth(args[1] == "")
		case "-n":
			return truth(args[1] != "")
		case "-d":
			return truth(dir)
		case "-f":
			return truth(file)
		default: // -e, -r, -w, -x, -s ...
			return truth(file || dir)
		}
	case 3:
		a, errA := strconv.Atoi(args[0])
		b, errB := strconv.Atoi(args[2])
		switch args[1] {
		case "=", "==":
			return truth(args[0] == args[2])
		case "!=":
			return truth(args[0] != args[2])
		}
		if errA != nil || errB != nil {
			fmt.Fprintln(sh.err, "sh: out of range")
			return 2
		}
		switch args[1] {
		case "-eq":
			return truth(a == b)
		case "-ne":
			return truth(a != b)
		case "-lt":
			return truth(a < b)
		case "-le":
			return truth(a <= b)
		case "-gt":
			return truth(a > b)
		case "-ge":
			return truth(a >= b)
		}
	}
	return 1
}

func (sh *shell) seq(args []string) int {
	first, last := 1, 0
	nums := operands(args)
	if len(nums) > 1 {
		first, _ = strconv.Atoi(nums[0])
	}
	if len(nums) > 0 {
		last, _ = strconv.Atoi(nums[len(nums)-1])
	}
	for i := first; i <= min(last, first+9999); i++ {
		fmt.Fprintln(sh.out, i)
	}
	return 0
}

func (sh *shell) printEnv() int {
	for _, kv := range sh.p.cfg.Env {
		fmt.Fprintln(sh.out, kv)
	}
	return 0
}

// operands returns the arguments that are not options.
func operands(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
}

func isForce(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "f") }
