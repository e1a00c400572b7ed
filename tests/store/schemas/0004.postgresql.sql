CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.asks (
    id text NOT NULL,
    job text NOT NULL,
    generation integer NOT NULL,
    item text NOT NULL,
    question text NOT NULL,
    rater text NOT NULL,
    context text NOT NULL,
    context_id text,
    "order" text NOT NULL,
    sample integer NOT NULL,
    status text NOT NULL,
    reply text,
    reasoning text,
    detail text,
    tokens_in integer NOT NULL,
    tokens_out integer NOT NULL,
    tokens_reasoning integer NOT NULL,
    cost double precision NOT NULL,
    seconds double precision NOT NULL,
    attempts integer NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.datasets (
    id text NOT NULL,
    benchmark text NOT NULL,
    info text NOT NULL,
    complete integer NOT NULL
);
CREATE TABLE public.items (
    dataset text NOT NULL,
    id text NOT NULL,
    "position" bigint NOT NULL,
    kind text NOT NULL,
    person text NOT NULL,
    prompt text NOT NULL,
    products text NOT NULL,
    grp text NOT NULL,
    slices text NOT NULL,
    hash text NOT NULL
);
CREATE TABLE public.judgments (
    ask text NOT NULL,
    item text NOT NULL,
    question text NOT NULL,
    rater text NOT NULL,
    target text NOT NULL,
    parse integer NOT NULL,
    status text NOT NULL,
    label text,
    value double precision,
    extra text
);
CREATE TABLE public.label_settings (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.people (
    dataset text NOT NULL,
    id text NOT NULL,
    version text NOT NULL,
    language text NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.products (
    id text NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    maker text,
    given text,
    about text,
    parents text NOT NULL,
    status text NOT NULL,
    cost double precision NOT NULL,
    sample integer NOT NULL
);
CREATE TABLE public.raters (
    fingerprint text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    settings text NOT NULL
);
CREATE TABLE public.run_jobs (
    run integer NOT NULL,
    job text NOT NULL
);
CREATE TABLE public.runs (
    id integer NOT NULL,
    name text NOT NULL,
    dataset text NOT NULL,
    config text NOT NULL,
    planned bigint NOT NULL,
    started double precision NOT NULL,
    touched double precision NOT NULL,
    finished double precision
);
CREATE SEQUENCE public.runs_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.studies (
    name text NOT NULL,
    dataset text NOT NULL,
    form text NOT NULL,
    config text NOT NULL,
    state text NOT NULL,
    created double precision NOT NULL
);
CREATE TABLE public.study_chats (
    study text NOT NULL,
    seat integer NOT NULL,
    page text NOT NULL,
    turn integer NOT NULL,
    role text NOT NULL,
    text text NOT NULL,
    key text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.study_events (
    id bigint NOT NULL,
    study text NOT NULL,
    at double precision NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    detail text
);
CREATE SEQUENCE public.study_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.study_events_id_seq OWNED BY public.study_events.id;
CREATE TABLE public.study_pages (
    study text NOT NULL,
    id text NOT NULL,
    "position" bigint NOT NULL,
    role text NOT NULL,
    person text NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.study_plan (
    study text NOT NULL,
    seat integer NOT NULL,
    "position" bigint NOT NULL,
    page text NOT NULL,
    arrangement text NOT NULL,
    shown double precision,
    done double precision
);
CREATE TABLE public.study_raters (
    study text NOT NULL,
    seat integer NOT NULL,
    rater text NOT NULL,
    code text NOT NULL,
    external text,
    state text NOT NULL,
    reason text,
    progress text NOT NULL,
    joined double precision,
    seen double precision,
    finished double precision
);
CREATE TABLE public.tombstones (
    person text NOT NULL,
    at double precision NOT NULL,
    counts text NOT NULL
);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.study_events ALTER COLUMN id SET DEFAULT nextval('public.study_events_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0004');
INSERT INTO public.asks VALUES ('j1/0', 'j1', 0, 'i1', 'fit', 'r1', 'profile', 'c1', '01', 0, 'ok', 'A', NULL, NULL, 1600, 1, 0, 0.25, 0.5, 1, 1700000000.5);
INSERT INTO public.asks VALUES ('f1', 'j2', 0, 'i1', 'fit', 'r1', 'profile', 'c1', '10', 0, 'failed', NULL, NULL, 'no', 1600, 1, 0, 0.25, 0.5, 1, 1700000000.5);
INSERT INTO public.datasets VALUES ('d@1', 'd', '{"forgotten": 0}', 1);
INSERT INTO public.items VALUES ('d@1', 'i1', 0, 'choice', 'p1', 'What now?', '["a1","a2"]', 'g1', '{"half":"general"}', 'h1');
INSERT INTO public.judgments VALUES ('j1/0', 'i1', 'fit', 'r1', '', 0, 'ok', '0', 0.1, NULL);
INSERT INTO public.judgments VALUES ('d@1#author', 'i1', 'fit', 'author', '', 0, 'ok', '1', NULL, NULL);
INSERT INTO public.label_settings VALUES ('note', 'kept');
INSERT INTO public.people VALUES ('d@1', 'p1', 'v1', 'zh', '{"id":"p1","language":"zh","facets":{"职业":"老师"}}');
INSERT INTO public.products VALUES ('a1', 'answer', 'It''s "quoted";
over two lines — 是的 😀', NULL, NULL, NULL, '[]', 'ok', 0, 0);
INSERT INTO public.products VALUES ('a2', 'answer', 'plain', NULL, NULL, NULL, '[]', 'ok', 0, 0);
INSERT INTO public.products VALUES ('c1', 'context', '职业: 老师', NULL, NULL, 'p1', '[]', 'ok', 0, 0);
INSERT INTO public.raters VALUES ('r1', 'openai:m', 'llm', '{}');
INSERT INTO public.run_jobs VALUES (1, 'j1');
INSERT INTO public.run_jobs VALUES (1, 'j2');
INSERT INTO public.runs VALUES (1, 'first', 'd@1', '{"question": "fit", "selected": null}', 2, 1700000000, 1700000001, NULL);
INSERT INTO public.studies VALUES ('pilot', 'd@1', 'choice', '{}', 'open', 1700000003);
INSERT INTO public.study_chats VALUES ('pilot', 0, 's1', 0, 'user', '你好', 'k1', 1700000006);
INSERT INTO public.study_events VALUES (1, 'pilot', 1700000007, 'researcher', 'opened', NULL);
INSERT INTO public.study_pages VALUES ('pilot', 's1', 0, 'item', 'p1', '{"items": ["i1"]}');
INSERT INTO public.study_plan VALUES ('pilot', 0, 0, 's1', '10', 1700000005, NULL);
INSERT INTO public.study_raters VALUES ('pilot', 0, 'human1', 'R1', NULL, 'active', NULL, '{}', 1700000004, NULL, NULL);
INSERT INTO public.tombstones VALUES ('f00d', 1700000002, '{"items": 3}');
SELECT pg_catalog.setval('public.runs_id_seq', 1, true);
SELECT pg_catalog.setval('public.study_events_id_seq', 1, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.asks
    ADD CONSTRAINT asks_pkey PRIMARY KEY (job, id);
ALTER TABLE ONLY public.datasets
    ADD CONSTRAINT datasets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (dataset, id);
ALTER TABLE ONLY public.judgments
    ADD CONSTRAINT judgments_pkey PRIMARY KEY (ask, item, target, parse);
ALTER TABLE ONLY public.label_settings
    ADD CONSTRAINT label_settings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.people
    ADD CONSTRAINT people_pkey PRIMARY KEY (dataset, id);
ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.raters
    ADD CONSTRAINT raters_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.run_jobs
    ADD CONSTRAINT run_jobs_pkey PRIMARY KEY (run, job);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_name_key UNIQUE (name);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.studies
    ADD CONSTRAINT studies_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.study_chats
    ADD CONSTRAINT study_chats_pkey PRIMARY KEY (study, seat, page, turn);
ALTER TABLE ONLY public.study_events
    ADD CONSTRAINT study_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.study_pages
    ADD CONSTRAINT study_pages_pkey PRIMARY KEY (study, id);
ALTER TABLE ONLY public.study_plan
    ADD CONSTRAINT study_plan_pkey PRIMARY KEY (study, seat, "position");
ALTER TABLE ONLY public.study_raters
    ADD CONSTRAINT study_raters_pkey PRIMARY KEY (study, seat);
ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (person);
CREATE INDEX items_by_person ON public.items USING btree (dataset, person, "position");
CREATE INDEX study_events_by_study ON public.study_events USING btree (study, at);
CREATE INDEX study_plan_by_page ON public.study_plan USING btree (study, page);
CREATE INDEX study_raters_by_rater ON public.study_raters USING btree (rater);
