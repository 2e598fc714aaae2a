"""Short phrases for the teacher: what an operator might type, made by a grammar; spans of log lines; and words thrown together.

No judged question is read: the grammar below is general knowledge of operations, and the rest comes from lines and from the vocabulary.
"""

SUBJECTS = """database connection|connection pool|disk|disk space|memory|heap|cpu|network interface|load balancer|dns lookup|tls handshake|certificate|login|
user account|password|token|session|request|http request|response|api call|query|sql statement|transaction|table|index|replica|replication|primary|standby|
leader|follower|node|cluster|member|shard|partition|topic|consumer|producer|message|message queue|broker|cache|key|file|directory|volume|mount|snapshot|backup|
restore|checkpoint|compaction|garbage collection|thread|worker|scheduler|job|cron|task|container|pod|image|deployment|service|ingress|gateway|proxy|socket|port|
packet|firewall|cookie|page|upload|download|payment|order|cart|invoice|mail|notification|webhook|configuration|config file|plugin|module|driver|kernel|process|
daemon|server|client|host|machine|vm|sensor|clock|license|quota|rate limit|lock|deadlock|buffer|log file|log segment|commit log|schema|migration|column|row|
stream|batch|pipeline|build|test|release|upgrade|health check|probe|metric|alert|trace|exception|stack trace|null pointer|assertion|checksum|signature|permission|
role|policy|secret|ticket|seat|train|route|price|station|product|catalog|recommendation|currency|advertisement|shipment""".replace("\n", "").split("|")

EVENTS = """failed|failed to start|failed to stop|could not be opened|cannot be reached|is unreachable|is unavailable|is down|went down|is up again|came back|
timed out|is slow|takes too long|hangs|is stuck|is blocked|was refused|was rejected|was denied|was dropped|was lost|was reset|was closed|was closed unexpectedly|
was aborted|was cancelled|was killed|crashed|restarted|keeps restarting|started|starting up|stopped|shut down|was created|was deleted|was removed|was updated|
was changed|was added|was renamed|was moved|was copied|was read|was written|not found|is missing|does not exist|already exists|is empty|is full|nearly full|
overflowed|exhausted|exceeded|too large|too many|too small|is growing|is shrinking|lags behind|is out of date|expired|is invalid|is corrupt|is damaged|mismatch|
parse error|syntax error|is not supported|is deprecated|is disabled|is enabled|was skipped|was ignored|was retried|retrying|waiting|is busy|is idle|
completed|finished|succeeded|was successful|was accepted|established|opened|connected|disconnected|authenticated|not authorized|registered|elected|
joined|left|replaced|assigned|scheduled|evicted|flushed|merged|synced|recovered|rolled over|truncated|initialized|loaded|received|sent|forwarded""".replace(
    "\n", ""
).split("|")

ADJUNCTS = """on the primary|on one node|in production|after restart|during startup|during shutdown|for the client|for a user|by the server|by the kernel|
because of a timeout|because memory ran out|because the disk is full|with an error|with status 500|with exit code 1|again and again|last night|
while reading|while writing|from the remote side|to the upstream|between nodes|in the queue|of the table|under load|unexpectedly|at boot""".replace("\n", "").split("|")

OPENINGS = ["", "", "", "", "", "why ", "when ", "show ", "errors: ", "find ", "is the ", "the ", "all ", "any ", "warning: ", "who ", "which "]


def of_grammar(rng, count):
    """`count` phrases such as "why replica lags behind on one node"."""
    out = []
    for _ in range(count):
        subject, event = rng.choice(SUBJECTS), rng.choice(EVENTS)
        kind = rng.random()
        if kind < 0.15:
            text = f"{event} {subject}"
        elif kind < 0.25:
            text = f"{subject} {rng.choice(SUBJECTS)} {event}"
        elif kind < 0.32:
            text = f"{subject} {rng.choice(SUBJECTS)}"
        elif kind < 0.5:
            text = f"{subject} {event} {rng.choice(ADJUNCTS)}"
        else:
            text = f"{subject} {event}"
        out.append(rng.choice(OPENINGS) + text)
    return out


def of_lines(rng, texts, count):
    """Spans of two to eight words of the lines' texts, and as many words picked from all over one text, in their order."""
    out = []
    while len(out) < count:
        words = rng.choice(texts).split()
        if len(words) < 3:
            continue
        length = rng.randint(2, min(8, len(words)))
        if rng.random() < 0.6:
            start = rng.randrange(len(words) - length + 1)
            out.append(" ".join(words[start : start + length]))
        else:
            out.append(" ".join(words[i] for i in sorted(rng.sample(range(len(words)), length))))
    return out


def of_words(rng, words, count):
    """One to five words of the vocabulary, thrown together: how meanings add up, for words that no line here has."""
    return [" ".join(rng.choice(words) for _ in range(rng.randint(1, 5))) for _ in range(count)]
