package dev.lite.client;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LiteStatistics.Sampler;
import dev.lite.session.channel.ChannelCounts;
import dev.lite.session.channel.ChannelTotals;
import dev.lite.session.protocol.CommandCounts;
import dev.lite.session.protocol.RequestCounts;
import dev.lite.session.protocol.SessionArea;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts and samples the operations of an application. A session that attaches again continues the counts of the former one, whose
 * last operations may still count in the same slots: then a count is lost at most. Any thread, but only the owner of a slot for it.
 */
final class ClientCounts {
    /** One operation of 256, by kind and slot, is measured. */
    private static final int SAMPLE_MASK = 255;
    /** Each slot's time in a cache line of its own. */
    private static final int STRIDE_SHIFT = 3;

    private final CommandCounts commands = new CommandCounts();
    private final RequestCounts requests = new RequestCounts();
    private final ChannelTotals channelCalls = new ChannelTotals();
    private final ChannelTotals channelAnswers = new ChannelTotals();
    private final long[] begunNs = new long[SessionArea.SLOTS_MAX << STRIDE_SHIFT];
    private volatile @Nullable Sampler sampler;

    void setSampler(@Nullable Sampler newSampler) {
        sampler = newSampler;
    }

    /** The slot's command is about to be submitted. */
    void begun(int slot, int op, long bytes) {
        long count = commands.count(slot, op, bytes);
        begunNs[slot << STRIDE_SHIFT] = (count & SAMPLE_MASK) == 1 && sampler != null ? System.nanoTime() | 1 : 0;
    }

    /** The slot's command was done when a thread waited for it. */
    void done(int slot, int op) {
        long begun = begunNs[slot << STRIDE_SHIFT];
        if (begun != 0) {
            sample(CommandCounts.kindOf(op), System.nanoTime() - begun);
            begunNs[slot << STRIDE_SHIFT] = 0;
        }
    }

    private void sample(@Nullable Kind kind, long nanos) {
        Sampler current = sampler;
        if (current != null && kind != null) {
            current.sampled(kind, Math.max(0, nanos));
        }
    }

    /** Counts of control requests. They are not sampled: each takes much longer than a command. */
    RequestCounts requests() {
        return requests;
    }

    /** Counts and samples the calls of a new channel, too. */
    void opened(ChannelCounts calls) {
        calls.sampleTo(nanos -> sample(Kind.CALL, nanos));
        channelCalls.opened(calls);
    }

    /** Nobody calls through this channel any more. Idempotent. */
    void closed(ChannelCounts calls) {
        channelCalls.closed(calls);
    }

    /** The answers through channels. */
    ChannelTotals channelAnswers() {
        return channelAnswers;
    }

    Map<Kind, Count> sums() {
        Map<Kind, Count> sums = commands.sums();
        requests.addTo(sums);
        add(sums, Kind.CALL, channelCalls.sum());
        add(sums, Kind.ANSWER, channelAnswers.sum());
        return sums;
    }

    private static void add(Map<Kind, Count> sums, Kind kind, Count more) {
        if (more.operations() > 0) {
            sums.merge(kind, more, Count::plus);
        }
    }
}
