package dev.lite.tier.node;

import dev.lite.api.LmrNotFoundException;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.tier.Deadline;
import dev.lite.tier.memory.ArenaAllocator;
import java.time.Duration;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** What this node does for an operator, of its own authority: no principal is asked. Any thread; blocks. */
final class OperatorActs implements OrderExecutor.Acts {
    /** A move may take its deadline, and longer by its bytes at this rate, which every fabric is faster than. */
    private static final long BYTES_PER_SECOND_MIN = 50L << 20;

    private final NodeRecord self;
    private final ArenaAllocator allocator;
    private final LmrRecords records;
    private final NamedLmrs named;
    private final Masters masters;
    private final Relocation relocation;
    private final LmrCalls calls;
    private final Executor executor;
    private final Duration patience;

    OperatorActs(
            NodeRecord self,
            ArenaAllocator allocator,
            LmrRecords records,
            NamedLmrs named,
            Masters masters,
            Relocation relocation,
            LmrCalls calls,
            Executor executor,
            Duration patience) {
        this.self = self;
        this.allocator = allocator;
        this.records = records;
        this.named = named;
        this.masters = masters;
        this.relocation = relocation;
        this.calls = calls;
        this.executor = executor;
        this.patience = patience;
    }

    private Deadline ofMove(long bytes) {
        return Deadline.in(patience.plusSeconds(bytes / BYTES_PER_SECOND_MIN));
    }

    @Override
    public @Nullable String drain(boolean leaving, Drain.Progress progress, Deadline deadline) {
        if (!relocation.hasOthers(self.id())) {
            return "no other live node takes memory";
        }
        return new Drain(self, allocator, records, named, new FromHere(), executor, leaving).run(progress, deadline);
    }

    /** Moves what is here away. */
    private final class FromHere implements Drain.Mover {
        @Override
        public boolean hasOthers() {
            return relocation.hasOthers(self.id());
        }

        @Override
        public void evacuate(@Nullable String name, long id, long bytes) {
            Deadline deadline = ofMove(bytes);
            if (name == null && !records.isMine(id)) {
                calls.evacuateAtCreator(id, self.id(), deadline);
            } else {
                OperatorActs.this.evacuate(name, id, self.id(), deadline);
            }
        }
    }

    /** Moves what an LMR has on a node away from there. Its record is in the directory or here. */
    void evacuate(@Nullable String name, long id, int node, Deadline deadline) {
        masters.move(name, id, null, (lmr, until) -> relocation.awayFrom(lmr, node, until), deadline);
    }

    @Override
    public @Nullable String move(@Nullable String name, long id, String node) {
        if (name == null) {
            masters.move(null, id, null, node, ofMove(allocator.dataBytes()));
            return null;
        }
        LmrRecord lmr = records.find(name, Deadline.in(patience))
                .map(LmrRecords.Found::lmr)
                .orElseThrow(() -> new LmrNotFoundException("there is no LMR of the name \"%s\"".formatted(name)));
        masters.move(name, lmr.id(), null, node, ofMove(lmr.size()));
        return null;
    }

    @Override
    public @Nullable String freeOrphans(Drain.Progress progress) {
        return "this version of the node does not free orphans";
    }

    @Override
    public @Nullable String rebalance(Drain.Progress progress) {
        return "this version of the node does not rebalance";
    }
}
