package dev.lite.simulate.work;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LtLock;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Limits;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import dev.lite.simulate.tier.Shape;
import dev.lite.tier.node.LiteNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A few locks. Two holders never meet, unless the node of the first one was fenced, and tokens only grow. The last lock is only
 * ever tried. In half of the histories each use has a session of its own and unused words are removed soon, so that the words of
 * a name follow one another.
 */
final class Locks implements Part {
    private static final int LOCKS = 3;
    private static final long HOLD_NS_MAX = 3_000_000;
    private static final long FREE_AFTER_NS = 5_000_000_000L;

    private static final long IDLE_NS_MAX = 20_000_000;

    /** A node cannot say whether it has a ticket while a try of it is under way, so tries without pauses hold audits up. */
    private static final long BETWEEN_TRIES_NS = 20_000_000;

    /** The home passes over one dead ticket after the other, and each may be one of an application that was killed. */
    private static final long PASSED_OVER_NS = 3_000_000_000L;

    private final Cluster cluster;
    private final RandomGenerator random;
    private final boolean removesWords;
    private final List<State> locks = new ArrayList<>();

    /** The holder of each lock, according to the results that the applications got. */
    private record Holder(App app, int node, long incarnation, long token) {}

    private static final class State {
        final String name;
        final boolean onlyTried;

        @Nullable
        Holder holder;

        long lastToken = -1;

        State(String name, boolean onlyTried) {
            this.name = name;
            this.onlyTried = onlyTried;
        }
    }

    Locks(Cluster cluster) {
        this.cluster = cluster;
        this.random = cluster.simulation().streams().stream("locks");
        this.removesWords = random.nextBoolean();
        for (int i = 0; i < LOCKS; i++) {
            locks.add(new State("lock" + i, i == LOCKS - 1));
        }
    }

    @Override
    public void started(LiteNode node) {
        if (removesWords) {
            node.setNameIdle(Duration.ofNanos(1 + random.nextLong(IDLE_NS_MAX)));
        }
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case HOLDERS -> 8;
            case CUTS, SESSIONS -> 2;
            default -> 0;
        };
    }

    /** Near the limits, tickets pass 31 or 32 bits. */
    @Override
    public void prepare(App first) {
        if (cluster.shape().nearLimits()) {
            for (State state : locks) {
                LtLock unused = first.lite.sync().lock(state.name);
                Limits.nearTicket(first.member.node(), state.name, first.random.nextBoolean() ? 1L << 31 : 1L << 32);
            }
        }
    }

    @Override
    public void step(App app) {
        State state = locks.get(app.random.nextInt(LOCKS));
        if (removesWords) {
            try (Lite own = app.member.node().attach("lock user")) {
                use(app, own, state);
            }
        } else {
            use(app, app.lite, state);
        }
    }

    private void use(App app, Lite lite, State state) {
        LtLock lock = lite.sync().lock(state.name);
        int node = app.member.node().self().id();
        long incarnation = app.member.node().self().incarnation();
        Optional<HeldLock> got = state.onlyTried || app.random.nextInt(3) == 0
                ? lock.tryAcquire()
                : Optional.of(lock.acquire(Duration.ofMillis(5L + app.random.nextInt(600))));
        if (got.isEmpty()) {
            return;
        }
        try (HeldLock held = got.get()) {
            Holder now = new Holder(app, node, incarnation, held.fencingToken());
            if (!isFenced(now)) {
                entered(state, now);
            }
            if (app.random.nextBoolean()) {
                boolean longer = cluster.shape().mix() == Mix.HOLDERS && app.random.nextBoolean();
                Pause.ns(cluster.simulation(), app.random.nextLong(longer ? 30 * HOLD_NS_MAX : HOLD_NS_MAX));
            }
            if (now.equals(state.holder)) {
                state.holder = null; // from here on it may be released
            }
        }
    }

    private boolean isFenced(Holder holder) {
        return cluster.store().epoch().isFenced(holder.node, holder.incarnation);
    }

    /**
     * Whether the holder was killed and its node runs again, with the old arena. The new process asks every node about a ticket,
     * over connections that replaced those of the old one; so it needs no fence to pass the ticket over.
     */
    private static boolean isReplaced(Holder holder) {
        return holder.app.process.isDead() && holder.app.member.process() != holder.app.process;
    }

    private void entered(State state, Holder now) {
        Holder before = state.holder;
        if (before != null && !isFenced(before) && !isReplaced(before)) {
            cluster.rule()
                    .broken("%s: %s holds it with token %d, and so does %s with token %d"
                            .formatted(state.name, now.app.process, now.token, before.app.process, before.token));
        }
        if (now.token <= state.lastToken) {
            cluster.rule().broken("%s: token %d after %d".formatted(state.name, now.token, state.lastToken));
        }
        state.lastToken = now.token;
        state.holder = now;
    }

    @Override
    public void settle(App any) {
        Shape shape = cluster.shape();
        long freeAfterNs = FREE_AFTER_NS + PASSED_OVER_NS * shape.nodes() * shape.threadsPerNode();
        for (State state : locks) {
            LtLock lock = any.lite.sync().lock(state.name);
            boolean free = Pause.until(cluster.simulation(), freeAfterNs, () -> {
                Optional<HeldLock> got = lock.tryAcquire();
                got.ifPresent(HeldLock::close);
                if (got.isEmpty()) {
                    Pause.ns(cluster.simulation(), BETWEEN_TRIES_NS);
                }
                return got.isPresent();
            });
            if (!free) {
                cluster.rule()
                        .broken("%s: nobody holds it, and tryAcquire still fails after %d s"
                                .formatted(state.name, freeAfterNs / 1_000_000_000));
            }
        }
    }
}
