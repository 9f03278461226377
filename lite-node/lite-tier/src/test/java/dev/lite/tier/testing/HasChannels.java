package dev.lite.tier.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * On a class whose tests open channels in this process, so that only one of them runs at a time: some count the channels that the
 * process has mapped, and mappings do not tell whose they are.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ResourceLock("the channels of this process")
public @interface HasChannels {}
