package dev.lite.simulate.work;

import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.simulate.engine.Simulation;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Mix;
import dev.lite.simulate.tier.Pause;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Named LMRs that several applications create or map at the same time, and that none frees. The sessions of some creators end
 * during the call, and some creators get no answer from the directory. Each LMR has a counter that must keep every addition that
 * has returned: once another application may have mapped an LMR, it stays, whatever happens to its creator.
 */
final class Shares implements Part {
    private static final int NAMES_MAX = 40;
    /** Applications use the newest names, so that several create one at the same time. */
    private static final int NEWEST = 3;

    private static final long BYTES = 64;
    private static final long END_NS_MAX = 3_000_000;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};
    private static final Set<Permission> ALL = EnumSet.allOf(Permission.class);

    private final Cluster cluster;
    private final Simulation simulation;
    private final List<Shared> shares = new ArrayList<>();

    /** What is known of an LMR's counter. */
    private static final class Shared {
        final String name;
        long known;
        long unknown;

        Shared(String name) {
            this.name = name;
        }
    }

    Shares(Cluster cluster) {
        this.cluster = cluster;
        this.simulation = cluster.simulation();
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case SESSIONS -> 4;
            case TRANSFERS -> 0;
            default -> 1;
        };
    }

    @Override
    public void step(App app) {
        if (shares.size() < NAMES_MAX && (shares.isEmpty() || app.random.nextInt(6) == 0)) {
            shares.add(new Shared("share" + shares.size()));
        }
        Shared share = shares.get(shares.size() - 1 - app.random.nextInt(Math.min(NEWEST, shares.size())));
        LmrSpec spec = LmrSpec.of(BYTES)
                .withName(share.name)
                .withPlacement(Placement.on(app.anyNode()))
                .withLifetime(Lifetime.UNTIL_FREED)
                .withDefaultPermissions(DATA);
        if (app.random.nextInt(3) > 0) {
            add(app.lite, spec, share);
            return;
        }
        Lite brief = app.member.node().attach(Workload.PRINCIPAL);
        long endsNs = app.random.nextLong(END_NS_MAX);
        simulation.start(app.process, "ends " + share.name, true, () -> {
            Pause.ns(simulation, endsNs);
            brief.close();
        });
        add(brief, spec, share);
    }

    private void add(Lite lite, LmrSpec spec, Shared share) {
        try (LmrHandle handle = lite.memory().createOrMap(spec, ALL)) {
            long least = share.known;
            share.unknown++;
            long before = handle.fetchAdd(0, 1);
            share.unknown--;
            share.known++;
            check(share, before, least);
        }
    }

    private void check(Shared share, long value, long least) {
        if (value < least || value > share.known + share.unknown) {
            cluster.rule()
                    .broken("%s: its counter is %d; %d adds are known, %d before it was read, and %d unknown"
                            .formatted(share.name, value, share.known, least, share.unknown));
        }
    }

    @Override
    public void settle(App any) {
        for (Shared share : shares) {
            if (share.known > 0) {
                try (LmrHandle handle = any.lite.memory().map(share.name, Permission.ATOMIC)) {
                    check(share, handle.fetchAdd(0, 0), share.known);
                } catch (LmrNotFoundException e) {
                    cluster.rule().broken("%s is gone with %d additions".formatted(share.name, share.known));
                }
            }
        }
    }

    @Override
    public void cleanUp(App any) {
        for (Shared share : shares) {
            try {
                any.lite.memory().map(share.name, ALL).free();
            } catch (LmrNotFoundException | LmrFreedException e) {
                // Nobody created it, or it is being freed already.
            }
        }
    }
}
