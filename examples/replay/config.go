package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sakur4/boundary"
)

// The defaults of flags.
const (
	defaultWindow  = 32768
	defaultTrigger = 0.85
	defaultTarget  = 0.55
	defaultPin     = "Never push to the main branch without a review."
	// leastWindow is what the smallest prompt and its reply need.
	leastWindow = 1024
)

// config is what the flags say.
type config struct {
	in       []string
	policies []string
	window   int
	// trigger and target are shares of the window.
	trigger, target float64
	llama, svg, pin string
	json, oracle    bool
	// sliding is the attention window of the server's model in tokens, 0 for full attention; rule its checkpoint settings.
	sliding int
	rule    boundary.CheckpointRule
}

// share is a part of the window: 0.85, 85 and 85% are the same.
type share float64

func (s *share) String() string { return strconv.FormatFloat(float64(*s), 'g', -1, 64) }

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return fmt.Errorf("%q is no share of the window", text)
	}
	if percent || v > 1 {
		v /= 100
	}
	if !(v > 0 && v <= 1) {
		return fmt.Errorf("%q is not between 0 and 100 %%", text)
	}
	*s = share(v)
	return nil
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	*l = append(*l, text)
	return nil
}

// parseFlags reads the flags.
func parseFlags(args []string, errs io.Writer) (config, error) {
	var c config
	trigger, target := share(defaultTrigger), share(defaultTarget)
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Var((*list)(&c.in), "in", "`file` with a recorded session, or a folder of *.jsonl; may be repeated")
	f.IntVar(&c.window, "window", defaultWindow, "context in `tokens`")
	f.Var(&trigger, "trigger", "`share` of the window that starts a compaction: 0.85 or 85%")
	f.Var(&target, "target", "`share` of the window that a compaction leads to")
	names := f.String("policy", strings.Join(policyNames(), ","), "`policies` to compare, with commas")
	f.StringVar(&c.llama, "llama", "", "`URL` of a llama.cpp server; default: the simulator")
	f.BoolVar(&c.json, "json", false, "write one JSON object a policy and file")
	f.StringVar(&c.svg, "svg", "", "`file` for a picture of all runs")
	f.StringVar(&c.pin, "pin", defaultPin, "`rule` that is to stand in every prompt; empty for none")
	f.BoolVar(&c.oracle, "oracle", false, "add the policy that knows the future")
	f.IntVar(&c.sliding, "sliding", 0, "simulate a model with that attention window in `tokens`; 0: full attention")
	f.IntVar(&c.rule.Spacing, "checkpoint-spacing", 0, "the server's -cms in `tokens`, which it does not tell")
	f.IntVar(&c.rule.Max, "checkpoints", 0, "the server's -ctxcp, a `number`")
	f.IntVar(&c.rule.Ubatch, "ubatch", 0, "the server's -ub in `tokens`")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	c.trigger, c.target = float64(trigger), float64(target)
	for _, name := range strings.Split(*names, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(c.policies, name) {
			c.policies = append(c.policies, name)
		}
	}
	if c.oracle && !slices.Contains(c.policies, oracleName) {
		c.policies = append(c.policies, oracleName)
	}
	return c, c.validate(f.Args())
}

// validate returns all that is wrong in one error.
func (c *config) validate(rest []string) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(rest) > 0 {
		bad("unexpected argument %q: sessions are named with -in", rest[0])
	}
	if len(c.in) == 0 {
		bad("no session: name one with -in")
	}
	if c.window < leastWindow {
		bad("-window %d: at least %d tokens", c.window, leastWindow)
	}
	if c.target >= c.trigger {
		bad("-target %v is not below -trigger %v", c.target, c.trigger)
	}
	if len(c.policies) == 0 {
		bad("-policy names none")
	}
	for _, name := range c.policies {
		if name != oracleName && !slices.Contains(policyNames(), name) {
			bad("-policy %q is none of %s", name, strings.Join(policyNames(), ", "))
		}
	}
	if c.sliding < 0 || c.rule.Spacing < 0 || c.rule.Max < 0 || c.rule.Ubatch < 0 {
		bad("counts must not be negative")
	}
	if c.llama != "" && c.sliding > 0 {
		bad("-sliding is for the simulator: a server's model is what it is")
	}
	return errors.Join(errs...)
}

// at returns a share of the window in tokens.
func (c *config) at(share float64) int { return int(share * float64(c.window)) }
